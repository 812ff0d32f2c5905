#include "analysis/gallery/bos_figures.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/gallery/paper_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The sink scores over several prefix lengths. @throws Error if the session has none
const MetricResult& sinksOverLengths(const Session& session) {
    const MetricResult* found = latestDense(session, "sink_head", [](const MetricResult& result) {
        return result.overLengths.size() > 1 && result.request.option("key") == "0";
    });
    if (!found)
        throw lacking(session, "result sink_head with several lengths", bosPaper, "measure");
    return *found;
}

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

} // namespace

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
    const MetricResult* measured =
        latestDense(session, "sink_cv", [](const MetricResult& result) { return result.request.option("key") == "0"; });
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
