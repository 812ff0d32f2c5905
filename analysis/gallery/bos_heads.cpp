#include "analysis/gallery/bos_figures.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/paper_tables.h"
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

constexpr std::string_view bosPaper = "bos";

/// The latest result of a metric on the dense model that a condition allows; a whole one, if there is any. Null if
/// there is none.
template <typename Condition>
const MetricResult* latestResult(const Session& session, std::string_view metric, Condition isWanted) {
    const MetricResult* found = nullptr;
    for (const MetricResult& result : session.results)
        if (result.request.info->id == metric && result.measurement.maskDigest == "dense" && isWanted(result) &&
            (!found || result.isWhole || !found->isWhole))
            found = &result;
    return found;
}

/// The sink scores over whole sequences; over the longest prefix if nothing else was measured.
const MetricResult* wholeSinks(const Session& session, std::string_view metric) {
    const auto isPlain = [](const MetricResult& result) { return result.request.options.empty(); };
    if (const MetricResult* plain = latestResult(session, metric, isPlain))
        return plain;
    return latestResult(session, metric,
                        [](const MetricResult& result) { return result.request.option("key") == "0"; });
}

const MetricResult& sinkScores(const Session& session) {
    const MetricResult* found = wholeSinks(session, "sink_head");
    if (!found)
        throw lacking(session, "result sink_head", bosPaper, "measure");
    return *found;
}

/// The sink scores over several prefix lengths. @throws Error if the session has none
const MetricResult& sinksOverLengths(const Session& session) {
    const MetricResult* found = latestResult(session, "sink_head", [](const MetricResult& result) {
        return result.overLengths.size() > 1 && result.request.option("key") == "0";
    });
    if (!found)
        throw lacking(session, "result sink_head with several lengths", bosPaper, "measure");
    return *found;
}

/// "MMLU prompts (1,024 tokens)": the text of a result.
std::string bosDataText(const MetricResult& result) {
    if (!result.data)
        return "no data";
    return fmt::format("{} ({} tokens)", result.data->source, grouped(static_cast<std::uint64_t>(result.data->tokens)));
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
        found = latestResult(session, "ablation_head", isOf(true));
    if (!found && of != "accuracy")
        found = latestResult(session, "ablation_head", isOf(false));
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

// --- figures over lengths --------------------------------------------------------------------------------------------

/// Mean over the lengths of each head's sink score.
Matrix meansOverLengths(const MetricResult& result) {
    Matrix means(result.values.rows(), result.values.columns());
    for (std::size_t cell = 0; cell < means.values().size(); ++cell) {
        std::vector<double> values;
        for (const Matrix& own : result.overLengths)
            values.push_back(own.values()[cell]);
        means.values()[cell] = finiteMean(values);
    }
    return means;
}

/// Standard deviation over the lengths, divided by the mean; of the population.
Matrix variationOverLengths(const MetricResult& result, const Matrix& means) {
    Matrix variation(means.rows(), means.columns());
    for (std::size_t cell = 0; cell < means.values().size(); ++cell) {
        const double mean = means.values()[cell];
        std::vector<double> squares;
        for (const Matrix& own : result.overLengths)
            squares.push_back((own.values()[cell] - mean) * (own.values()[cell] - mean));
        if (mean > 0)
            variation.values()[cell] = std::sqrt(finiteMean(squares)) / mean;
    }
    return variation;
}

/// A straight line.
struct FittedLine {
    double slope = 0;
    double offset = 0;
    double at(double x) const { return offset + slope * x; }
};

FittedLine leastSquares(const std::vector<double>& x, const std::vector<double>& y) {
    const double meanX = finiteMean(x);
    const double meanY = finiteMean(y);
    double products = 0;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        products += (x[i] - meanX) * (y[i] - meanY);
        squares += (x[i] - meanX) * (x[i] - meanX);
    }
    const double slope = squares > 0 ? products / squares : 0;
    return {slope, meanY - slope * meanX};
}

/// A group of heads of figure 4.
struct SinkGroup {
    double least; ///< least mean over lengths
    const char* label;
    SeriesStyle style;
};
constexpr std::array sinkGroups{SinkGroup{-1, "all heads", SeriesStyle::dashed},
                                SinkGroup{0.6, "μ ≥ 0.6", SeriesStyle::dashDotted},
                                SinkGroup{0.8, "μ ≥ 0.8", SeriesStyle::plainLine}};

std::vector<std::size_t> headsAbove(const Matrix& means, double least) {
    std::vector<std::size_t> cells;
    for (std::size_t cell = 0; cell < means.values().size(); ++cell)
        if (means.values()[cell] >= least)
            cells.push_back(cell);
    return cells;
}

double meanOfCells(const Matrix& values, const std::vector<std::size_t>& cells) {
    std::vector<double> chosen;
    for (const std::size_t cell : cells)
        chosen.push_back(values.values()[cell]);
    return finiteMean(chosen);
}

/// The points of a group of heads and their line.
void addGroup(Figure& figure, const MetricResult& result, const SinkGroup& group, std::size_t colour,
              const std::vector<std::size_t>& cells) {
    FigureSeries points;
    points.label = fmt::format("{} ({})", group.label, cells.size());
    points.style = SeriesStyle::points;
    points.colour = colour;
    for (std::size_t i = 0; i < result.lengths.size(); ++i) {
        points.positions.push_back(static_cast<double>(result.lengths[i]));
        points.values.push_back(meanOfCells(result.overLengths[i], cells));
        points.names.push_back(fmt::format("{} tokens", result.lengths[i]));
    }
    const FittedLine fit = leastSquares(points.positions, points.values);
    FigureSeries line;
    line.label = fmt::format("slope {} per 1,000 tokens", significant(1000 * fit.slope, 2));
    line.style = group.style;
    line.colour = colour;
    line.positions = {points.positions.front(), points.positions.back()};
    line.values = {fit.at(line.positions.front()), fit.at(line.positions.back())};
    figure.series.push_back(std::move(points));
    figure.series.push_back(std::move(line));
}

/// The sink score of uniform causal attention, H_T / T with the harmonic number H_T.
FigureSeries uniformFloor(std::int64_t first, std::int64_t last) {
    FigureSeries floor;
    floor.label = "uniform attention";
    floor.style = SeriesStyle::thinLine;
    double harmonic = 0;
    double next = static_cast<double>(first);
    for (std::int64_t length = 1; length <= last; ++length) {
        harmonic += 1 / static_cast<double>(length);
        if (static_cast<double>(length) < next && length < last)
            continue;
        floor.positions.push_back(static_cast<double>(length));
        floor.values.push_back(harmonic / static_cast<double>(length));
        next = static_cast<double>(length) * 1.1;
    }
    return floor;
}

Figure bosFigure(const Session& session, FigureKind kind) {
    Figure figure;
    figure.kind = kind;
    figure.title = session.model.name;
    return figure;
}

} // namespace

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
    FigureSeries dense;
    dense.label = "dense model";
    dense.style = SeriesStyle::level;
    dense.values = {quality.dense};
    dense.names = {"dense"};
    const std::size_t heads = points.values.size();
    figure.series = {std::move(points), std::move(dense)};
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

Figure drawBosLengths(const Session& session, const FigureOptions& /*options*/) {
    const MetricResult& result = sinksOverLengths(session);
    const Matrix means = meansOverLengths(result);
    Figure figure = bosFigure(session, FigureKind::curves);
    figure.x.label = "length (tokens)";
    figure.y.label = "sink score, mean over heads";
    figure.series.push_back(uniformFloor(result.lengths.front(), result.lengths.back()));
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < sinkGroups.size(); ++i) {
        const std::vector<std::size_t> cells = headsAbove(means, sinkGroups[i].least);
        if (cells.empty())
            missing.emplace_back(sinkGroups[i].label);
        else
            addGroup(figure, result, sinkGroups[i], i, cells);
    }
    if (!missing.empty())
        figure.note = "no head with " + join(missing, " or ");
    figure.caption = figureCaption(session.model, "BOS sink score against the length of the prefix") +
                     fmt::format(" Measured on {}. Points: means over the heads whose mean over the lengths, μ, is in "
                                 "the group; lines: least squares.",
                                 bosDataText(result));
    return figure;
}

Figure drawBosVariation(const Session& session, const FigureOptions& /*options*/) {
    const MetricResult& sinks = sinksOverLengths(session);
    const MetricResult* measured = latestResult(
        session, "sink_cv", [](const MetricResult& result) { return result.request.option("key") == "0"; });
    const Matrix means = meansOverLengths(sinks);
    const Matrix variation = measured ? measured->values : variationOverLengths(sinks, means);
    Figure figure = bosFigure(session, FigureKind::scatter);
    figure.x.label = "mean sink score over lengths, μ";
    figure.y.label = "coefficient of variation, σ / μ";
    figure.unit = "head";
    figure.colour.label = "layer";
    figure.scale = {"viridis", ScaleKind::linear, 0};
    FigureSeries& points = figure.series.emplace_back();
    points.label = "head";
    for (std::size_t layer = 0; layer < means.rows(); ++layer)
        for (std::size_t head = 0; head < means.columns(); ++head) {
            if (!std::isfinite(means(layer, head)) || !std::isfinite(variation(layer, head)))
                continue;
            points.positions.push_back(means(layer, head));
            points.values.push_back(variation(layer, head));
            points.shades.push_back(static_cast<double>(layer));
            points.units.push_back({static_cast<int>(layer), static_cast<int>(head)});
            points.names.push_back(headName(static_cast<int>(layer), static_cast<int>(head)));
        }
    const std::string over = measured ? "over sequences and prefix lengths" : "over prefix lengths";
    figure.caption =
        figureCaption(session.model, fmt::format("mean and coefficient of variation of the BOS sink score, "
                                                 "{}",
                                                 counted(points.values.size(), "head"))) +
        fmt::format(" Means over the lengths {} to {} on {}; variation {}, with the standard deviation of "
                    "the population.",
                    sinks.lengths.front(), sinks.lengths.back(), bosDataText(sinks), over);
    return figure;
}

} // namespace secateur
