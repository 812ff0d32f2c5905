#include "analysis/measure.h"

#include "analysis/weight_metrics.h"

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>

namespace secateur {

namespace {

using Clock = std::chrono::steady_clock;

const WeightMetric& weightMetric(const MetricRequest& request) {
    const auto table = weightMetrics();
    return *std::find_if(table.begin(), table.end(), [&](const WeightMetric& m) { return &m.info == request.info; });
}

/// Options that change nothing on this model are worth a word: the value equals the plain one.
void noteIdleOptions(const ModelSpec& spec, MetricResult& result) {
    const auto any = [&](auto has) { return std::any_of(spec.layers.begin(), spec.layers.end(), has); };
    const MetricRequest& request = result.request;
    if (request.flag("augmented") && !any([](const LayerSpec& l) { return l.queryBias || l.keyBias; }))
        result.warnings.emplace_back("augmented=true changes nothing here: this model's queries and keys have no bias");
    if (request.flag("rope_averaged") && !any([](const LayerSpec& l) { return l.rotary.dims > 0; }))
        result.warnings.emplace_back("rope_averaged=true changes nothing here: this model has no rotary positions");
}

/// What one layer gave one request.
struct LayerValues {
    std::vector<double> cells;
    double seconds = 0;
    bool finite = true;
};

std::vector<LayerValues> measureLayer(const Model& model, int layer, std::span<const MetricRequest> requests) {
    const LayerSpec& spec = model.spec().layers[static_cast<std::size_t>(layer)];
    std::vector<LayerValues> values(requests.size());
    LayerWeights weights(model, layer);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const WeightMetric& metric = weightMetric(requests[i]);
        if (!metric.applies(spec))
            continue;
        const auto begin = Clock::now();
        std::vector<double>& cells = values[i].cells;
        cells.resize(cellsInLayer(requests[i].info->scope, spec));
        metric.compute(weights, requests[i], cells);
        for (double& value : cells) {
            values[i].finite = values[i].finite && std::isfinite(value);
            if (!std::isfinite(value))
                value = std::numeric_limits<double>::quiet_NaN();
        }
        values[i].seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return values;
}

/// Collects layers from several threads and passes them on one at a time.
class Collector {
public:
    Collector(const ModelSpec& spec, std::vector<MetricResult>& results, const Progress& progress,
              const LayerSink& layerDone)
        : m_spec(spec)
        , m_results(results)
        , m_progress(progress)
        , m_layerDone(layerDone)
        , m_finite(results.size(), std::vector<bool>(spec.layers.size(), true)) {}

    void add(int layer, const std::vector<LayerValues>& values) {
        const std::lock_guard lock(m_mutex);
        const auto row = static_cast<std::size_t>(layer);
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::copy(values[i].cells.begin(), values[i].cells.end(), m_results[i].values.row(row).begin());
            m_results[i].seconds += values[i].seconds;
            m_finite[i][row] = values[i].finite;
            if (m_layerDone)
                m_layerDone(i, layer, m_results[i].values.row(row));
        }
        ++m_done;
        m_progress.report(static_cast<double>(m_done) / m_spec.layerCount(),
                          fmt::format("{} of {} layers", m_done, m_spec.layerCount()));
        spdlog::debug("measured the weights of layer {}", layer);
    }

    void warnOfLayersThatAreNotFinite() {
        for (std::size_t i = 0; i < m_results.size(); ++i)
            for (std::size_t layer = 0; layer < m_finite[i].size(); ++layer)
                if (!m_finite[i][layer])
                    m_results[i].warnings.push_back(fmt::format("layer {} has {} weights that are not finite", layer,
                                                                weightMetric(m_results[i].request).reads));
    }

private:
    const ModelSpec& m_spec;
    std::vector<MetricResult>& m_results;
    const Progress& m_progress;
    const LayerSink& m_layerDone;
    std::mutex m_mutex;
    std::vector<std::vector<bool>> m_finite; ///< by request and layer
    int m_done = 0;
};

/// Whole layers to each thread: their operations are too small to be worth splitting, and on a busy machine threads
/// that wait for each other after every one of them wait for most of the time.
void walkLayers(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                Collector& collector) {
    const int layers = model.spec().layerCount();
    std::atomic<int> next = 0;
    at::parallel_for(0, std::min(layers, at::get_num_threads()), 1, [&](std::int64_t, std::int64_t) {
        for (int layer = next++; layer < layers; layer = next++) {
            progress.check();
            collector.add(layer, measureLayer(model, layer, requests));
        }
    });
}

} // namespace

std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone) {
    const ModelSpec& spec = model.spec();
    std::vector<MetricResult> results;
    for (const MetricRequest& request : requests) {
        MetricResult& result = results.emplace_back();
        result.request = request;
        result.values = Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
        noteIdleOptions(spec, result);
    }
    progress.report(0, "reading weights");
    Collector collector(spec, results, progress, layerDone);
    walkLayers(model, requests, progress, collector);
    collector.warnOfLayersThatAreNotFinite();
    return results;
}

} // namespace secateur
