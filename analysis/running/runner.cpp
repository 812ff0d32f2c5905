#include "analysis/running/runner.h"

#include "analysis/base/error.h"
#include "analysis/running/runner_results.h"
#include "analysis/running/stream_store.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <vector>

namespace secateur {

LayerGradients Runner::backward(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                const at::Tensor& dOutput, std::span<const Tap> wanted,
                                std::span<const float> attentionScales) const {
    const OutputGradient output{dOutput, {wanted.begin(), wanted.end()}};
    LayerGradients result;
    backwardEach(
        plan, layer, x, batch, {&output, 1}, [&](std::size_t, LayerGradients found) { result = std::move(found); },
        attentionScales);
    return result;
}

at::Tensor Runner::runLayers(const Plan& plan, const at::Tensor& x, const Batch& batch, KvCache& cache,
                             const std::function<void(int layer)>& begins) const {
    at::Tensor stream = x;
    for (int layer = 0; layer < plan.mask().layerCount(); ++layer) {
        begins(layer);
        stream = runLayer(plan, layer, stream, batch, &cache);
    }
    return stream;
}

namespace {

class Walker {
public:
    Walker(const Runner& runner, const Plan& plan, std::span<const Batch> batches, const LayerWalk& walk,
           const Progress& progress)
        : m_runner(runner)
        , m_plan(plan)
        , m_batches(batches)
        , m_walk(walk)
        , m_progress(progress)
        , m_layers(plan.mask().layerCount()) {}

    void batchByBatch() {
        for (std::size_t batch = 0; batch < m_batches.size(); ++batch) {
            at::Tensor x = start(batch);
            for (int layer = m_walk.firstLayer; layer < m_layers; ++layer)
                x = step(layer, batch, x);
            finish(batch, x);
        }
    }

    void layerByLayer() {
        StreamStore streams(m_batches.size());
        for (std::size_t batch = 0; batch < m_batches.size(); ++batch)
            streams.put(batch, start(batch));
        for (int layer = m_walk.firstLayer; layer < m_layers; ++layer)
            for (std::size_t batch = 0; batch < m_batches.size(); ++batch)
                streams.put(batch, step(layer, batch, streams.take(batch)));
        for (std::size_t batch = 0; batch < m_batches.size(); ++batch)
            finish(batch, streams.take(batch));
    }

private:
    at::Tensor start(std::size_t batch) const {
        return m_walk.start ? m_walk.start(batch) : m_runner.embed(m_plan, m_batches[batch]);
    }

    at::Tensor step(int layer, std::size_t batch, const at::Tensor& x) {
        const auto steps = static_cast<double>(m_layers - m_walk.firstLayer) * static_cast<double>(m_batches.size());
        m_progress.report(m_done++ / steps, fmt::format("layer {}", layer));
        if (m_walk.enters)
            m_walk.enters(layer, batch, x);
        at::Tensor output = m_walk.runs
                                ? m_walk.runs(layer, batch, x)
                                : m_runner.runLayer(m_plan, layer, x, m_batches[batch], nullptr, m_walk.observer);
        if (m_walk.passed)
            m_walk.passed(layer, batch, output);
        return output;
    }

    void finish(std::size_t batch, const at::Tensor& x) const {
        if (m_walk.finished)
            m_walk.finished(batch, x);
    }

    const Runner& m_runner;
    const Plan& m_plan;
    std::span<const Batch> m_batches;
    const LayerWalk& m_walk;
    const Progress& m_progress;
    int m_layers;
    double m_done = 0;
};

} // namespace

void forEachLayer(const Runner& runner, const Plan& plan, std::span<const Batch> batches, const LayerWalk& walk,
                  const Progress& progress) {
    Walker walker(runner, plan, batches, walk, progress);
    if (plan.isResident())
        walker.batchByBatch();
    else
        walker.layerByLayer();
}

namespace {

constexpr std::array names{std::string_view("auto"), std::string_view("float32"), std::string_view("bfloat16"),
                           std::string_view("float16")};

} // namespace

std::string_view name(ComputeType type) {
    return names[static_cast<std::size_t>(type)];
}

ComputeType computeTypeOf(std::string_view wanted) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == wanted)
            return static_cast<ComputeType>(i);
    throw Error(fmt::format("\"{}\" is not a dtype of matrix products", wanted), {},
                "The dtypes are: auto, float32, bfloat16, float16");
}

void append(TopTokens& to, const TopTokens& more) {
    to.count = more.count;
    to.tokens.insert(to.tokens.end(), more.tokens.begin(), more.tokens.end());
    to.logProbabilities.insert(to.logProbabilities.end(), more.logProbabilities.begin(), more.logProbabilities.end());
}

} // namespace secateur
