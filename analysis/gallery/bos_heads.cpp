#include "analysis/gallery/bos_figures.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/metrics/ablation_parts.h"
#include "analysis/tasks/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The sink scores over whole sequences; over the longest prefix if nothing else was measured.
const MetricResult* wholeSinks(const Session& session, std::string_view metric) {
    const auto isPlain = [](const MetricResult& result) { return result.request.options.empty(); };
    if (const MetricResult* plain = latestDense(session, metric, isPlain))
        return plain;
    return latestDense(session, metric, [](const MetricResult& result) { return result.request.option("key") == "0"; });
}

const MetricResult& sinkScores(const Session& session) {
    const MetricResult* found = wholeSinks(session, "sink_head");
    if (!found)
        throw lacking(session, "result sink_head", bosPaper, "measure");
    return *found;
}

/// The quality of the model without each head.
struct QualityWithout {
    Matrix values;
    Matrix errors; ///< standard errors of the paired differences; empty if they are not known
    std::string label;
    double dense = 0;
    std::string data; ///< for captions
};

const MetricResult& ablationOf(const Session& session, const std::string& of) {
    const auto isOf = [](bool accuracy) {
        return [accuracy](const MetricResult& result) { return isOfAccuracy(result.request) == accuracy; };
    };
    const MetricResult* found = nullptr;
    if (of != "loss")
        found = latestDense(session, "ablation_head", isOf(true));
    if (!found && of != "accuracy")
        found = latestDense(session, "ablation_head", isOf(false));
    if (!found)
        throw lacking(session, of == "accuracy" ? "result ablation_head:of=accuracy" : "result ablation_head", bosPaper,
                      "ablate");
    return *found;
}

/// The dense model's accuracy on the questions of an ablation; empty if the session does not have it.
std::optional<double> denseAccuracy(const Session& session, const MetricResult& ablation) {
    for (const Evaluation& evaluation : session.evaluations)
        for (const TaskEvaluation& task : evaluation.tasks)
            if (evaluation.isOf("dense") && task.digest == ablation.measurement.dataDigest)
                for (const TaskMetric& metric : task.run.scores.metrics)
                    if (metric.id == taskFormat(task.formatId).metric)
                        return metric.value;
    for (const Curves& curves : session.curves)
        for (const CurveTask& task : curves.tasks)
            if (ablation.data && task.source == ablation.data->source && task.questions == ablation.data->sequences)
                if (const PointMetric* metric = curves.dense.metric(task.name, taskFormat(task.format).metric))
                    return metric->value;
    return std::nullopt;
}

Matrix errorsOf(const MetricResult& result) {
    const auto found = std::ranges::find(result.features, "error", &MetricFeature::name);
    return found == result.features.end() ? Matrix() : found->values;
}

QualityWithout qualityWithout(const Session& session, const std::string& of) {
    const MetricResult& ablation = ablationOf(session, of);
    QualityWithout found;
    found.values = ablation.values;
    found.errors = errorsOf(ablation);
    found.data = bosDataText(ablation);
    if (!isOfAccuracy(ablation.request)) {
        found.label = "rise of the loss without the head (nats per token)";
        return found;
    }
    const std::optional<double> dense = denseAccuracy(session, ablation);
    found.dense = dense.value_or(0);
    found.label = dense ? "accuracy without the head" : "change of the accuracy without the head";
    if (ablation.data)
        found.data += ", " + counted(static_cast<std::uint64_t>(ablation.data->sequences), "question");
    for (double& value : found.values.values())
        value = found.dense - value; // the metric is the decrease
    return found;
}

/// "Paired standard errors: 0.004 to 0.02, median 0.01."
std::string errorText(const Matrix& errors) {
    const auto [least, greatest] = finiteRange(errors.values());
    if (!std::isfinite(least))
        return {};
    return fmt::format(" Paired standard errors: {} to {}, median {}.", significant(least), significant(greatest),
                       significant(percentile(errors.values(), 50)));
}

/// Means over the heads of each layer.
std::vector<double> layerMeans(const Matrix& values) {
    std::vector<double> means;
    for (std::size_t layer = 0; layer < values.rows(); ++layer)
        means.push_back(finiteMean(values.row(layer)));
    return means;
}

} // namespace

const MetricResult* latestDense(const Session& session, std::string_view metric,
                                const std::function<bool(const MetricResult&)>& isWanted) {
    const MetricResult* found = nullptr;
    for (const MetricResult& result : session.results)
        if (result.request.info->id == metric && result.measurement.maskDigest == "dense" && isWanted(result) &&
            (!found || result.isWhole || !found->isWhole))
            found = &result;
    return found;
}

std::string bosDataText(const MetricResult& result) {
    if (!result.data)
        return "no data";
    return fmt::format("{} ({} tokens)", result.data->source, grouped(static_cast<std::uint64_t>(result.data->tokens)));
}

Figure bosFigure(const Session& session, FigureKind kind) {
    Figure figure;
    figure.kind = kind;
    figure.title = session.model.name;
    return figure;
}

void checkBosAblation(const FigureOptions& options) {
    const std::string& of = options.at("of");
    if (of != "auto" && of != "accuracy" && of != "loss")
        throw UsageError("should be accuracy, loss or auto", "of=" + of);
}

Figure drawBosAblation(const Session& session, const FigureOptions& options) {
    const MetricResult& sinks = sinkScores(session);
    const QualityWithout quality = qualityWithout(session, options.at("of"));
    Figure figure = bosFigure(session, FigureKind::curves);
    figure.x.label = "sink score";
    figure.y.label = quality.label;
    FigureSeries points;
    points.label = "head";
    points.style = SeriesStyle::points;
    for (std::size_t layer = 0; layer < sinks.values.rows(); ++layer)
        for (std::size_t head = 0; head < sinks.values.columns(); ++head) {
            if (!std::isfinite(sinks.values(layer, head)) || !std::isfinite(quality.values(layer, head)))
                continue;
            points.positions.push_back(sinks.values(layer, head));
            points.values.push_back(quality.values(layer, head));
            points.names.push_back(headName(static_cast<int>(layer), static_cast<int>(head)));
        }
    const std::size_t heads = points.values.size();
    figure.series = {std::move(points), denseLine("dense model", quality.dense)};
    figure.caption = figureCaption(session.model, fmt::format("{} against the BOS sink score, {}", quality.label,
                                                              counted(heads, "head"))) +
                     fmt::format(" Sink scores on {}; ablation on {}.", bosDataText(sinks), quality.data) +
                     errorText(quality.errors);
    return figure;
}

Figure drawBosLayers(const Session& session, const FigureOptions& options) {
    const QualityWithout quality = qualityWithout(session, options.at("of"));
    const MetricResult* layers = wholeSinks(session, "sink_layer");
    const MetricResult& sinks = layers ? *layers : sinkScores(session);
    Figure figure = bosFigure(session, FigureKind::series);
    figure.x.label = "layer";
    figure.y.label = quality.label + ", mean over heads";
    figure.rightY.label = "sink score of the layer";
    FigureSeries left;
    left.label = quality.label;
    left.values = layerMeans(quality.values);
    FigureSeries right;
    right.label = "sink score";
    right.values = layerMeans(sinks.values);
    right.rightAxis = true;
    figure.series = {std::move(left), std::move(right)};
    figure.caption = figureCaption(session.model, quality.label + ", mean over the heads of each layer, and the "
                                                                  "layer's BOS sink score") +
                     fmt::format(" Sink scores on {}; ablation on {}.", bosDataText(sinks), quality.data);
    return figure;
}

} // namespace secateur
