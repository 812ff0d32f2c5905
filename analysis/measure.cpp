#include "analysis/measure.h"

#include "analysis/weight_metrics.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

using Clock = std::chrono::steady_clock;

const WeightMetric& weightMetric(const MetricRequest& request) {
    const auto table = weightMetrics();
    return *std::find_if(table.begin(), table.end(), [&](const WeightMetric& m) { return &m.info == request.info; });
}

bool hasQueryAndKey(const LayerSpec& layer) {
    return layer.attention == AttentionKind::full && layer.kvHeads > 0;
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

void measureLayer(const Model& model, int layer, std::vector<MetricResult>& results) {
    const LayerSpec& spec = model.spec().layers[static_cast<std::size_t>(layer)];
    if (!hasQueryAndKey(spec))
        return;
    LayerWeights weights(model, layer);
    for (MetricResult& result : results) {
        const auto begin = Clock::now();
        const std::span<double> cells =
            result.values.row(static_cast<std::size_t>(layer)).first(cellsInLayer(result.request.info->scope, spec));
        weightMetric(result.request).compute(weights, result.request, cells);
        if (!std::all_of(cells.begin(), cells.end(), [](double value) { return std::isfinite(value); })) {
            result.warnings.push_back(fmt::format("layer {} has query or key weights that are not finite", layer));
            std::replace_if(
                cells.begin(), cells.end(), [](double value) { return !std::isfinite(value); },
                std::numeric_limits<double>::quiet_NaN());
        }
        result.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    }
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
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        progress.report(static_cast<double>(layer) / spec.layerCount(),
                        fmt::format("layer {} of {}", layer, spec.layerCount()));
        measureLayer(model, layer, results);
        spdlog::debug("measured the weights of layer {}", layer);
        if (!layerDone)
            continue;
        for (std::size_t i = 0; i < results.size(); ++i)
            layerDone(i, layer, results[i].values.row(static_cast<std::size_t>(layer)));
    }
    progress.report(1, "done");
    return results;
}

} // namespace secateur
