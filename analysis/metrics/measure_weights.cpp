#include "analysis/metrics/measure_stages.h"

#include "analysis/metrics/weight_metrics.h"
#include "analysis/metrics/wide_query_key.h"

#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;

const WeightMetric& weightMetric(const MetricRequest& request) {
    return std::get<WeightMetric>(request.info->computation);
}

/// The values of one request at one layer.
struct LayerValues {
    std::vector<double> cells;
    double seconds = 0;
    bool finite = true;
};

struct MeasuredLayer {
    std::vector<LayerValues> values;    ///< one for each request
    std::vector<std::string> notFinite; ///< sentences about the weights, if a value is not finite
};

MeasuredLayer measureLayer(const Model& model, int layer, std::span<const MetricRequest> requests,
                           const Progress& progress) {
    const LayerSpec& spec = model.spec().layers[static_cast<std::size_t>(layer)];
    MeasuredLayer measured{std::vector<LayerValues>(requests.size()), {}};
    std::vector<LayerValues>& values = measured.values;
    LayerWeights weights(model, layer, progress);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const WeightMetric& metric = weightMetric(requests[i]);
        if (!metric.applies(spec))
            continue;
        const auto begin = SteadyClock::now();
        std::vector<double>& cells = values[i].cells;
        cells.resize(cellsInLayer(requests[i].info->scope, spec));
        metric.compute(weights, requests[i], cells);
        for (double& value : cells) {
            values[i].finite = values[i].finite && std::isfinite(value);
            if (!std::isfinite(value))
                value = std::numeric_limits<double>::quiet_NaN();
        }
        values[i].seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    }
    if (!std::all_of(values.begin(), values.end(), [](const LayerValues& v) { return v.finite; }))
        measured.notFinite = weights.notFinite();
    model.checkFiles();
    return measured;
}

/// Takes values of layers from several threads and passes them on one at a time.
class Collector {
public:
    Collector(const ModelSpec& spec, std::vector<MetricResult>& results, const Progress& progress,
              const LayerSink& layerDone)
        : m_spec(spec)
        , m_results(results)
        , m_progress(progress)
        , m_layerDone(layerDone)
        , m_notFinite(results.size()) {}

    /// @param layers all layers that share the measured weights
    void add(const std::vector<int>& layers, const MeasuredLayer& measured) {
        const std::lock_guard lock(m_mutex);
        for (std::size_t i = 0; i < m_results.size(); ++i) {
            const LayerValues& values = measured.values[i];
            m_results[i].seconds += values.seconds;
            if (!values.finite)
                m_notFinite[i].emplace(layers.front(), measured.notFinite);
            for (const int layer : layers) {
                const std::span<double> row = m_results[i].values.row(static_cast<std::size_t>(layer));
                std::copy(values.cells.begin(), values.cells.end(), row.begin());
                if (m_layerDone)
                    m_layerDone({i, layer, row, {}});
            }
        }
        m_done += layers.size();
        m_progress.report(static_cast<double>(m_done) / static_cast<double>(m_spec.layers.size()),
                          fmt::format("{} of {} layers", m_done, m_spec.layers.size()));
        spdlog::debug("measured the weights of layer {}", layers.front());
    }

    /// Passes an estimate on, to be shown until the exact value is known. Results do not contain it.
    void show(const std::vector<int>& layers, std::size_t request, const Estimate& estimate) {
        const std::lock_guard lock(m_mutex);
        for (const int layer : layers)
            m_layerDone({request, layer, {&estimate.value, 1}, {&estimate.standardError, 1}});
    }

    void warnOfLayersThatAreNotFinite() {
        for (std::size_t i = 0; i < m_results.size(); ++i) {
            for (const auto& [layer, sentences] : m_notFinite[i]) {
                std::vector<std::string>& warnings = m_results[i].warnings;
                if (sentences.empty())
                    warnings.push_back(fmt::format("layer {} has weights too large for this value", layer));
                warnings.insert(warnings.end(), sentences.begin(), sentences.end());
            }
        }
    }

private:
    const ModelSpec& m_spec;
    std::vector<MetricResult>& m_results;
    const Progress& m_progress;
    const LayerSink& m_layerDone;
    std::mutex m_mutex;
    std::vector<std::map<int, std::vector<std::string>>> m_notFinite; ///< by request, then layer
    std::size_t m_done = 0;
};

/// Groups of layers with the same weights, which are measured once; single layers in most models.
std::vector<std::vector<int>> layersByWeights(const ModelSpec& spec) {
    auto groups = spec.tiedGroups();
    if (groups.empty())
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            groups.push_back({layer});
    return groups;
}

using Groups = std::vector<std::vector<int>>;

/// Measures the layers of a wide model one after another, each with all threads: first estimates for all layers, then
/// exact values in the order of LayerOrder.
class WideWalk {
public:
    WideWalk(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
             Collector& collector)
        : m_model(model)
        , m_requests(requests)
        , m_progress(progress)
        , m_collector(collector)
        , m_groups(layersByWeights(model.spec()))
        , m_order(m_groups.size()) {}

    void estimate() {
        for (std::size_t group = 0; group < m_groups.size(); ++group) {
            m_progress.report(0, fmt::format("estimating layer {}", m_groups[group].front()));
            if (group + 1 < m_groups.size())
                expect(group + 1);
            LayerWeights weights(m_model, m_groups[group].front(), m_progress);
            for (std::size_t request = 0; request < m_requests.size(); ++request)
                estimate(group, request, weights);
            m_model.checkFiles();
        }
        m_progress.report(0, "measuring the layers in doubt");
    }

    void measure() {
        // The next layer is chosen before the current one is measured, so that the next layer's weights are read ahead.
        for (std::optional<std::size_t> group = m_order.next(); group;) {
            m_progress.check();
            const std::optional<std::size_t> following = m_order.next();
            if (following)
                expect(*following);
            const MeasuredLayer measured = measureLayer(m_model, m_groups[*group].front(), m_requests, m_progress);
            m_collector.add(m_groups[*group], measured);
            if (m_estimated)
                m_order.setExact(*group, measured.values[*m_estimated].cells.front());
            group = following;
        }
    }

private:
    void estimate(std::size_t group, std::size_t request, LayerWeights& weights) {
        const WeightMetric& metric = weightMetric(m_requests[request]);
        if (!metric.estimate || !metric.applies(weights.spec()))
            return;
        const std::optional<Estimate> estimate = metric.estimate(weights, m_requests[request]);
        if (!estimate || !std::isfinite(estimate->value))
            return;
        m_collector.show(m_groups[group], request, *estimate);
        if (m_estimated.value_or(request) != request)
            return;
        m_estimated = request;
        m_order.setEstimate(group, estimate->value, estimate->standardError);
    }

    void expect(std::size_t group) const {
        for (const WeightName which : {WeightName::query, WeightName::key})
            m_model.expect(m_groups[group].front(), which);
    }

    const Model& m_model;
    std::span<const MetricRequest> m_requests;
    const Progress& m_progress;
    Collector& m_collector;
    Groups m_groups;
    LayerOrder m_order;
    std::optional<std::size_t> m_estimated; ///< index of the request whose estimates decide the order
};

/// Measures layers in parallel, each by one thread: single operations are too small to be divided among threads, and on
/// a busy machine threads that synchronise after each operation would mostly wait.
void walkLayers(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                Collector& collector) {
    const Groups groups = layersByWeights(model.spec());
    const auto tasks = static_cast<std::int64_t>(groups.size());
    std::atomic<std::size_t> next = 0;
    at::parallel_for(0, std::min<std::int64_t>(tasks, at::get_num_threads()), 1, [&](std::int64_t, std::int64_t) {
        for (std::size_t group = next++; group < groups.size(); group = next++) {
            progress.check();
            collector.add(groups[group], measureLayer(model, groups[group].front(), requests, progress));
        }
    });
}

} // namespace

LayerOrder::LayerOrder(std::size_t layers)
    : m_layers(layers) {}

void LayerOrder::setEstimate(std::size_t layer, double value, double standardError) {
    m_layers[layer].value = value;
    m_layers[layer].error = standardError;
    m_layers[layer].hasValue = true;
}

/// The number of layers, itself included if its value is an estimate, that are not separated from a layer by two
/// standard errors of their difference.
std::size_t LayerOrder::doubts(const Layer& layer) const {
    return static_cast<std::size_t>(std::ranges::count_if(m_layers, [&](const Layer& other) {
        return other.hasValue && layer.hasValue &&
               std::abs(layer.value - other.value) < 2 * std::hypot(layer.error, other.error);
    }));
}

std::optional<std::size_t> LayerOrder::next() {
    std::optional<std::size_t> best;
    std::pair<std::size_t, double> most;
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        if (m_layers[i].isTaken)
            continue;
        const std::pair need{doubts(m_layers[i]), m_layers[i].error};
        if (!best || need > most) {
            best = i;
            most = need;
        }
    }
    if (best)
        m_layers[*best].isTaken = true;
    return best;
}

std::vector<MetricResult> measureWeights(const Model& model, std::span<const MetricRequest> requests,
                                         const Progress& progress, const LayerSink& layerDone) {
    const ModelSpec& spec = model.spec();
    std::vector<MetricResult> results;
    for (const MetricRequest& request : requests) {
        MetricResult& result = results.emplace_back();
        result.request = request;
        result.values = Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
        if (const WeightMetric& metric = weightMetric(request); metric.notes)
            result.warnings = metric.notes(spec, request);
    }
    progress.report(0, "reading weights");
    Collector collector(spec, results, progress, layerDone);
    if (isWide(spec)) {
        WideWalk walk(model, requests, progress, collector);
        if (layerDone) // only this callback receives estimates
            walk.estimate();
        walk.measure();
    } else {
        walkLayers(model, requests, progress, collector);
    }
    collector.warnOfLayersThatAreNotFinite();
    return results;
}

} // namespace secateur
