#include "analysis/running/backward_walk.h"

#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "analysis/running/runner_results.h"
#include "analysis/running/scalar_type.h"
#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

namespace secateur {

namespace {

constexpr double forwardShare = 0.25; ///< approximate share of the forward pass in the time

/// Maximum bytes of graphs. GPUs have a memory of their own, and need more tokens at once to be busy.
std::int64_t graphLimit(const Model& model, const BackwardMemory& memory) {
    constexpr std::int64_t onDevice = std::int64_t{1} << 31;
    return model.kernels().device() == "cpu" ? memory.graphBytes : std::max(memory.graphBytes, onDevice);
}

/// Runs batches together forward and backward through the layers.
class BackwardWalker {
public:
    BackwardWalker(const Model& model, const Plan& plan, std::span<const Batch> batches, std::size_t first,
                   const BackwardSteps& steps, const BackwardMemory& memory)
        : m_runner(model.runner())
        , m_plan(plan)
        , m_batches(batches)
        , m_first(first)
        , m_steps(steps)
        , m_type(scalarTypeOf(memory.type))
        , m_trace(memory.trace)
        , m_layers(model.spec().layerCount())
        , m_streams(batches.size())
        , m_scalars(batches.size())
        , m_gradients(batches.size())
        , m_firstRecorded(firstRecorded(graphLimit(model, memory))) {}

    void forward(const Progress& progress) {
        LayerWalk walk;
        if (m_trace)
            walk.firstLayer = m_trace->firstLayer;
        if (walk.firstLayer > 0)
            walk.start = [&](std::size_t batch) { return resume(batch); };
        walk.runs = [&](int layer, std::size_t batch, const at::Tensor& x) { return run(layer, batch, x); };
        walk.finished = [&](std::size_t batch, const at::Tensor& x) {
            if (m_trace)
                m_trace->keep(m_first + batch, m_streams[batch], x);
            takeLossGradients(batch, x);
        };
        forEachLayer(m_runner, m_plan, m_batches, walk, progress);
    }

    void backward(const Progress& progress) {
        for (int layer = m_layers - 1; layer >= m_steps.lowestLayer; --layer)
            for (std::size_t batch = 0; batch < m_batches.size(); ++batch)
                backwardLayer(layer, batch, progress);
    }

private:
    /// Takes the inputs of the layers below BackwardTrace::firstLayer from the trace. @returns the input of that layer
    at::Tensor resume(std::size_t batch) {
        const std::vector<at::Tensor>& streams = m_trace->streams[m_first + batch];
        m_streams[batch].assign(streams.begin(), streams.begin() + m_trace->firstLayer);
        return streams[static_cast<std::size_t>(m_trace->firstLayer)].to(at::kFloat);
    }

    /// The lowest layer whose graph is stored. The graphs of all layers above it are stored too. Lower layers, for
    /// whose graphs there is no memory, run again in the backward pass.
    int firstRecorded(std::int64_t bytes) {
        int layer = m_layers;
        while (layer > m_steps.lowestLayer && bytes > 0 && m_plan.isResident()) {
            bytes -= m_runner.recordedBytes(layer - 1, m_batches.front(), tapsOf(layer - 1, 0));
            if (bytes < 0)
                break;
            --layer;
        }
        return layer;
    }

    at::Tensor run(int layer, std::size_t batch, const at::Tensor& x) {
        m_streams[batch].push_back(layer < m_steps.lowestLayer && !m_trace ? at::Tensor() : x.to(m_type));
        if (layer < m_firstRecorded || scalarsOf(batch).empty())
            return m_runner.runLayer(m_plan, layer, x, m_batches[batch]);
        m_recorded[layer] = m_runner.recordLayer(m_plan, layer, x, m_batches[batch], tapsOf(layer, batch));
        return m_recorded[layer]->output();
    }

    /// The taps that at least one pass requests.
    std::vector<Tap> tapsOf(int layer, std::size_t batch) {
        std::vector<Tap> taps;
        for (std::size_t pass = 0; pass < scalarsOf(batch).size(); ++pass) {
            const std::vector<Tap> own = m_steps.taps(layer, pass);
            taps.insert(taps.end(), own.begin(), own.end());
        }
        return taps;
    }

    const std::vector<BackwardScalar>& scalarsOf(std::size_t batch) {
        if (m_scalars[batch].empty())
            m_scalars[batch] = m_steps.scalars(m_first + batch);
        return m_scalars[batch];
    }

    void takeLossGradients(std::size_t batch, const at::Tensor& x) {
        for (const BackwardScalar& scalar : scalarsOf(batch)) {
            const std::size_t pass = m_gradients[batch].size();
            LossGradient top = m_runner.lossGradient(m_plan, x, m_batches[batch], scalar.of, scalar.targets,
                                                     scalar.weights, scalar.teacher.get());
            if (m_trace && pass == 0)
                m_trace->values[m_first + batch] = top.values;
            if (m_steps.begins)
                m_steps.begins(m_first + batch, pass, top);
            m_gradients[batch].push_back(std::move(top.stream));
        }
    }

    void backwardLayer(int layer, std::size_t batch, const Progress& progress) {
        const at::Tensor x = std::exchange(m_streams[batch][static_cast<std::size_t>(layer)], {}).to(at::kFloat);
        std::vector<at::Tensor>& gradients = m_gradients[batch];
        const auto steps = static_cast<double>(m_layers - m_steps.lowestLayer) *
                           static_cast<double>(m_batches.size() * gradients.size());
        const auto report = [&] { progress.report(m_done / steps, fmt::format("gradients of layer {}", layer)); };
        std::vector<OutputGradient> outputs;
        for (std::size_t pass = 0; pass < gradients.size(); ++pass)
            outputs.push_back({std::exchange(gradients[pass], {}), m_steps.taps(layer, pass)});
        if (outputs.empty())
            return;
        report();
        const auto take = [&](std::size_t pass, LayerGradients found) {
            m_steps.pulled({layer, m_first + batch, pass, x, outputs[pass].dOutput, found});
            gradients[pass] = std::move(found.input);
            outputs[pass].dOutput.reset();
            ++m_done;
            report();
        };
        if (const auto recorded = m_recorded.extract(layer))
            recorded.mapped()->backwardEach(outputs, take);
        else
            m_runner.backwardEach(m_plan, layer, x, m_batches[batch], outputs, take);
    }

    const Runner& m_runner;
    const Plan& m_plan;
    std::span<const Batch> m_batches;
    std::size_t m_first; ///< index among all batches of the first batch in m_batches
    const BackwardSteps& m_steps;
    at::ScalarType m_type;
    BackwardTrace* m_trace;
    int m_layers;
    std::vector<std::vector<at::Tensor>> m_streams;     ///< for each batch, the streams X_l by layer
    std::vector<std::vector<BackwardScalar>> m_scalars; ///< scalars of each batch
    std::vector<std::vector<at::Tensor>> m_gradients;   ///< by batch and pass: gradient of a layer's output
    int m_firstRecorded;
    std::map<int, std::unique_ptr<RecordedLayer>> m_recorded; ///< by layer; only while one batch runs at a time
    double m_done = 0;
};

} // namespace

std::size_t batchesTogether(const Model& model, const Plan& plan, std::span<const Batch> batches,
                            const BackwardMemory& memory) {
    if (plan.isResident())
        return 1;
    const std::int64_t tokenBytes =
        std::int64_t{model.spec().hidden} * model.spec().layerCount() * (memory.type == ComputeType::float32 ? 4 : 2);
    const std::int64_t most = std::min(memory.bytes, model.runner().freeBytes() / 2);
    std::size_t count = 0;
    std::int64_t bytes = 0;
    while (count < batches.size() && (count == 0 || bytes + batches[count].tokens() * tokenBytes <= most))
        bytes += batches[count++].tokens() * tokenBytes;
    return count;
}

std::int64_t tokensAtOnce(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                          std::int64_t most, const BackwardMemory& memory) {
    constexpr std::int64_t fewest = 128;
    if (!plan.isResident())
        return most;
    Batch longest;
    longest.rows = 1;
    for (const TokenSequence& sequence : sequences)
        longest.positions = std::max(longest.positions, static_cast<int>(sequence.ids.size()));
    std::int64_t bytes = 0;
    constexpr std::array taps{Tap::attentionInput, Tap::query, Tap::key, Tap::value, Tap::context};
    for (int layer = 0; layer < model.spec().layerCount(); ++layer)
        bytes += model.runner().recordedBytes(layer, longest, taps);
    const std::int64_t tokens = bytes > 0 ? graphLimit(model, memory) * longest.positions / bytes : most;
    return tokens < fewest ? most : std::min(tokens, most);
}

void walkBackward(const Model& model, const Plan& plan, std::span<const Batch> batches, const BackwardSteps& steps,
                  const BackwardMemory& memory, const Progress& progress) {
    for (std::size_t first = 0; first < batches.size();) {
        const std::size_t count = batchesTogether(model, plan, batches.subspan(first), memory);
        const auto share = [&](std::size_t batch) {
            return static_cast<double>(batch) / static_cast<double>(batches.size());
        };
        const Progress own = progress.part(share(first), share(first + count));
        BackwardWalker walker(model, plan, batches.subspan(first, count), first, steps, memory);
        walker.forward(own.part(0, forwardShare));
        walker.backward(own.part(forwardShare, 1));
        first += count;
        if (steps.finished)
            steps.finished(first - count, first);
    }
}

} // namespace secateur
