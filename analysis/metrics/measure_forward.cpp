#include "analysis/metrics/measure_forward.h"

#include "analysis/base/error.h"
#include "analysis/running/for_each_layer.h"
#include "analysis/metrics/forward_observer.h"
#include "analysis/running/padded_batches.h"
#include "analysis/base/text.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace secateur {

namespace {

std::int64_t longestOf(std::span<const TokenSequence> sequences) {
    std::size_t longest = 0;
    for (const TokenSequence& sequence : sequences)
        longest = std::max(longest, sequence.ids.size());
    return static_cast<std::int64_t>(longest);
}

/// The indices of a metric's columns that kept units fill.
std::vector<std::size_t> columnsOf(const MetricRequest& request, const KeptUnits& kept) {
    switch (request.info->scope) {
    case Scope::head:
        return kept.heads;
    case Scope::neuron:
        return kept.neurons;
    default:
        return {0};
    }
}

class ForwardWalk {
public:
    ForwardWalk(const Model& model, const ForwardRun& run, std::span<const MetricRequest> requests,
                const LayerSink& layerDone)
        : m_model(model)
        , m_run(run)
        , m_requests(requests)
        , m_layerDone(layerDone)
        , m_batches(paddedBatches(run.sequences, run.batchTokens))
        , m_weights(model, run.plan.type(), run.plan.isResident())
        , m_observer(model, run.plan, requests, longestOf(run.sequences), m_weights)
        , m_sums(model.spec().layers.size())
        , m_pending(m_sums.size()) {
        for (const MetricRequest& request : requests)
            m_results.push_back(emptyResult(m_results.size(), request));
    }

    /// @returns whether it came to its end
    bool walk(const Progress& progress) {
        LayerWalk steps;
        steps.observer = &m_observer;
        steps.enters = [&](int layer, std::size_t batch, const at::Tensor& input) {
            m_observer.enter(layer, m_batches.batches[batch], input);
        };
        steps.passed = [&](int layer, std::size_t batch, const at::Tensor& output) {
            m_pending[static_cast<std::size_t>(layer)].add(m_observer.leave(output));
            if (!m_run.plan.isResident() && batch + 1 == m_batches.batches.size())
                finishLayer(layer);
        };
        steps.finished = [&](std::size_t batch, const at::Tensor&) {
            if (m_run.plan.isResident())
                finishBatch(batch);
        };
        try {
            forEachLayer(m_model.runner(), m_run.plan, m_batches.batches, steps, progress);
        } catch (const Cancelled&) {
            if (!m_hasValues)
                throw;
            return false;
        }
        return true;
    }

    std::vector<MetricResult> take(bool isWhole) {
        for (int layer = 0; m_run.plan.isResident() && layer < m_model.spec().layerCount(); ++layer)
            fill(layer);
        warn();
        MeasuredData data;
        for (const TokenSequence& sequence : m_run.sequences)
            data.allTokens += std::ssize(sequence.ids);
        data.tokens = m_run.plan.isResident() ? m_tokens : data.allTokens;
        data.sequences = m_run.plan.isResident() ? m_sequences : std::ssize(m_run.sequences);
        for (MetricResult& result : m_results) {
            result.data = data;
            result.isWhole = isWhole;
            if (!isWhole)
                result.warnings.push_back(stopText(data));
        }
        return std::move(m_results);
    }

private:
    MetricResult emptyResult(std::size_t request, const MetricRequest& asked) const {
        const ModelSpec& spec = m_model.spec();
        MetricResult result;
        result.request = asked;
        result.values = Matrix(spec.layers.size(), columnsFor(asked.info->scope, spec));
        if (const AttentionMetric* metric = m_observer.attention(request)) {
            result.lengths = metric->lengths();
            result.overLengths.assign(result.lengths.size(), result.values);
            result.warnings = metric->warnings();
        }
        if (!asked.info->classes.empty())
            for (const std::string_view name : patternFeatures())
                result.features.push_back({std::string(name), result.values});
        return result;
    }

    void finishLayer(int layer) {
        m_sums[static_cast<std::size_t>(layer)] = std::exchange(m_pending[static_cast<std::size_t>(layer)], {});
        m_hasValues = true;
        ++m_layersDone;
        fill(layer);
        tell(layer);
    }

    /// What one batch gave all layers counts when it is through.
    void finishBatch(std::size_t batch) {
        for (int length : m_batches.batches[batch].lengths)
            m_tokens += length;
        m_sequences += m_batches.batches[batch].rows;
        for (std::size_t layer = 0; layer < m_sums.size(); ++layer)
            m_sums[layer].add(std::exchange(m_pending[layer], {}));
        m_hasValues = true;
        for (int layer = 0; m_layerDone && layer < m_model.spec().layerCount(); ++layer) {
            fill(layer);
            tell(layer);
        }
    }

    void fill(int layer) {
        const auto row = static_cast<std::size_t>(layer);
        for (std::size_t request = 0; request < m_requests.size(); ++request) {
            MetricResult& result = m_results[request];
            const AttentionValues found = m_observer.values(request, layer, m_sums[row]);
            const std::vector<std::size_t> columns = columnsOf(m_requests[request], m_observer.kept(layer));
            for (std::size_t i = 0; i < result.overLengths.size(); ++i)
                place(found.values[i], columns, result.overLengths[i].row(row));
            place(found.values.back(), columns, result.values.row(row));
            for (std::size_t i = 0; i < result.features.size(); ++i)
                place(found.features[i], columns, result.features[i].values.row(row));
        }
    }

    void tell(int layer) const {
        for (std::size_t request = 0; m_layerDone && request < m_requests.size(); ++request)
            m_layerDone({request, layer, m_results[request].values.row(static_cast<std::size_t>(layer)), {}});
    }

    static void place(const std::vector<double>& values, const std::vector<std::size_t>& columns,
                      std::span<double> row) {
        for (std::size_t i = 0; i < std::min(values.size(), columns.size()); ++i)
            row[columns[i]] = std::isfinite(values[i]) ? values[i] : std::numeric_limits<double>::quiet_NaN();
    }

    std::string stopText(const MeasuredData& data) const {
        if (m_run.plan.isResident())
            return fmt::format("stopped after {} of {} tokens", grouped(static_cast<std::uint64_t>(data.tokens)),
                               grouped(static_cast<std::uint64_t>(data.allTokens)));
        return fmt::format("stopped after {} of {} layers", m_layersDone, m_sums.size());
    }

    void warn();

    const Model& m_model;
    const ForwardRun& m_run;
    std::span<const MetricRequest> m_requests;
    const LayerSink& m_layerDone;
    PaddedBatches m_batches;
    WritingWeights m_weights;
    ForwardObserver m_observer;
    std::vector<LayerSums> m_sums;    ///< by layer, of what counts
    std::vector<LayerSums> m_pending; ///< by layer, of what is not through yet
    std::vector<MetricResult> m_results;
    std::int64_t m_tokens = 0;
    std::int64_t m_sequences = 0;
    bool m_hasValues = false;
    int m_layersDone = 0;
};

bool isSink(const MetricRequest& request) {
    return request.info->id.starts_with("sink");
}

/// Things worth knowing of the values.
void ForwardWalk::warn() {
    const ModelSpec& spec = m_model.spec();
    const std::int64_t longest = longestOf(m_run.sequences);
    std::int64_t narrow = 0; // layers whose queries do not all see the first key
    double undirected = 0;
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
        narrow += spec.layers[layer].window > 0 && spec.layers[layer].window < longest ? 1 : 0;
        undirected += m_sums[layer].parts[0].at(TokenSum::undirected);
    }
    for (MetricResult& result : m_results) {
        const MetricRequest& request = result.request;
        if (isSink(request) && narrow > 0 && !request.flag("visible_only"))
            result.warnings.push_back(
                fmt::format("in {} of {} layers late queries do not see the key, which holds the mean down: see the "
                            "option visible_only",
                            narrow, spec.layers.size()));
        if (request.flag("before_norm") && spec.normPlace != NormPlace::after)
            result.warnings.emplace_back("before_norm=true changes nothing here: this model norms what sublayers read");
        if (forwardMetric(request).observes == Observes::stream && undirected > 0)
            result.warnings.push_back(
                fmt::format("{:.0f} vectors have no length: they count as turned by half", undirected));
    }
}

} // namespace

std::vector<MetricResult> measureForward(const Model& model, const ForwardRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone) {
    if (run.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    const auto begin = std::chrono::steady_clock::now();
    ForwardWalk walk(model, run, requests, layerDone);
    const bool isWhole = walk.walk(progress);
    model.checkFiles();
    std::vector<MetricResult> results = walk.take(isWhole);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (MetricResult& result : results)
        result.seconds = seconds; // of the pass that all share
    return results;
}

} // namespace secateur
