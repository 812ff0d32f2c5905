#include "analysis/figures/scatter_figure.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace secateur {

namespace {

/// The column of a result that contains the value of a unit. The scope of the unit is that of the result or a finer
/// one.
/// @param result scope of the result @param unit scope of the unit @param index index of the unit in its layer
std::size_t cellOf(Scope result, Scope unit, const LayerSpec& layer, std::size_t index) {
    if (result == Scope::layer)
        return 0;
    if (result == Scope::kvGroup && unit == Scope::head)
        return static_cast<std::size_t>(layer.kvGroup(static_cast<int>(index)));
    return index;
}

Matrix spread(const ModelSpec& spec, const MetricResult& result, Scope scope) {
    Matrix values(spec.layers.size(), columnsFor(scope, spec));
    for (std::size_t row = 0; row < values.rows() && row < result.values.rows(); ++row)
        for (std::size_t unit = 0; unit < cellsInLayer(scope, spec.layers[row]); ++unit)
            if (const std::size_t cell = cellOf(result.request.info->scope, scope, spec.layers[row], unit);
                cell < result.values.columns())
                values(row, unit) = result.values(row, cell);
    return values;
}

bool isUnitCut(const LayerMask& layer, const LayerSpec& spec, Scope scope, std::size_t unit) {
    const auto isHeadCut = [&](std::size_t head) { return layer.keptHeads() == 0 || !layer.heads.at(head); };
    switch (scope) {
    case Scope::head:
        return isHeadCut(unit);
    case Scope::kvGroup:
        for (std::size_t head = 0; head < layer.heads.size(); ++head)
            if (spec.kvGroup(static_cast<int>(head)) == static_cast<int>(unit) && !isHeadCut(head))
                return false;
        return true;
    case Scope::neuron:
        return !layer.block || !layer.mlp || !layer.neurons.at(unit);
    case Scope::layer:
        return layer.keptHeads() == 0 && layer.keptNeurons() == 0;
    }
    return false;
}

std::string thing(Scope scope) {
    return scope == Scope::layer ? "layer" : unitLabel(scope);
}

FigureSeries pointsOf(const ModelSpec& spec, const PairedResults& pairs, const PruningMask* mask, std::size_t stride) {
    FigureSeries points;
    points.label = thing(pairs.scope) + "s";
    std::size_t passed = 0;
    for (std::size_t row = 0; row < pairs.x.rows(); ++row)
        for (std::size_t unit = 0; unit < pairs.x.columns(); ++unit) {
            const double x = pairs.x(row, unit);
            const double y = pairs.y(row, unit);
            if (!std::isfinite(x) || !std::isfinite(y) || passed++ % stride != 0)
                continue;
            points.positions.push_back(x);
            points.values.push_back(y);
            points.shades.push_back(static_cast<double>(row));
            points.units.push_back({static_cast<int>(row), static_cast<int>(unit)});
            if (mask)
                points.cut.push_back(
                    isUnitCut(mask->layer(static_cast<int>(row)), spec.layers[row], pairs.scope, unit));
        }
    return points;
}

/// The number of points that a logarithmic axis cannot show.
std::size_t unplaced(const FigureSeries& points, const Figure& figure) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < points.values.size(); ++i)
        count += (figure.x.logarithmic && points.positions[i] <= 0) || (figure.y.logarithmic && points.values[i] <= 0);
    return count;
}

/// Places values on an axis, which names the scale.
FigureAxis axisFor(const MetricResult& result, Matrix& values, ScaleKind scale) {
    const ScaleKind used = usedScale(scale, values.values());
    values = onScale(values, used);
    const bool isLog = used == ScaleKind::logarithmic; // its ticks show that
    return {isLog ? axisLabel(result) : scaledLabel(axisLabel(result), used), isLog};
}

/// Ranks of all cells by the end that a metric prunes first: 1 = first.
std::vector<double> cutOrder(const Matrix& values, PruneFirst end) {
    std::vector<double> keys(values.values().begin(), values.values().end());
    if (end == PruneFirst::high)
        std::ranges::transform(keys, keys.begin(), std::negate<>());
    return averageRanks(keys);
}

std::string inNumbers(double correlation) {
    return std::isnan(correlation) ? "–" : fmt::format("{}{:.2f}", correlation < 0 ? "−" : "", std::abs(correlation));
}

bool hasEstimates(const MetricResult& x, const MetricResult& y) {
    return x.standardError || y.standardError;
}

} // namespace

PairedResults paired(const ModelSpec& spec, const MetricResult& x, const MetricResult& y) {
    const Scope ofX = x.request.info->scope;
    const Scope ofY = y.request.info->scope;
    const auto either = [&](Scope scope) { return ofX == scope || ofY == scope; };
    if (either(Scope::neuron) && (either(Scope::head) || either(Scope::kvGroup)))
        throw UsageError("cannot be paired: heads and neurons are not parts of each other",
                         fmt::format("{} and {}", x.request.resultId(), y.request.resultId()));
    const Scope scope = either(Scope::neuron)    ? Scope::neuron
                        : either(Scope::head)    ? Scope::head
                        : either(Scope::kvGroup) ? Scope::kvGroup
                                                 : Scope::layer;
    return {scope, spread(spec, x, scope), spread(spec, y, scope)};
}

Figure metricScatter(const ModelCard& model, const MetricResult& x, const MetricResult& y, const ScatterLook& look) {
    PairedResults pairs = paired(model.spec, x, y);
    const RankCorrelation correlation =
        look.correlation ? *look.correlation : rankCorrelation(pairs.x.values(), pairs.y.values());
    const std::size_t most = look.mostPoints == 0 ? std::max<std::size_t>(correlation.count, 1) : look.mostPoints;
    const std::size_t stride = std::max<std::size_t>((correlation.count + most - 1) / most, 1);
    Figure figure;
    figure.kind = FigureKind::scatter;
    figure.title = model.name;
    figure.x = axisFor(x, pairs.x, look.scaleX);
    figure.y = axisFor(y, pairs.y, look.scaleY);
    figure.colour.label = "layer";
    figure.scale = {"viridis", ScaleKind::linear, 0};
    figure.unit = unitLabel(pairs.scope);
    figure.series.push_back(pointsOf(model.spec, pairs, look.mask, stride));
    figure.note = correlationText(correlation, pairs.scope);
    if (stride > 1)
        figure.note += fmt::format(" · 1 in {} drawn", grouped(stride));
    if (const std::size_t count = unplaced(figure.series.front(), figure))
        figure.note += fmt::format(" · {} not positive, not drawn", grouped(count));
    figure.caption = figureCaption(model, figure.y.label + " against " + figure.x.label);
    figure.caption +=
        fmt::format(" Spearman's rank correlation {}, Kendall's tau-b {}, over {}.", inNumbers(correlation.spearman),
                    inNumbers(correlation.kendall), counted(correlation.count, thing(pairs.scope)));
    if (std::ranges::find(figure.series.front().cut, true) != figure.series.front().cut.end())
        figure.caption += " Crosses: cut.";
    if (hasEstimates(x, y))
        figure.caption += " Some of the values are estimates.";
    return figure;
}

Figure rankDifferenceMap(const ModelCard& model, const MetricResult& x, const MetricResult& y) {
    const PairedResults pairs = paired(model.spec, x, y);
    if (pairs.scope == Scope::neuron)
        throw UsageError("has one value per neuron, too many for a heat map; draw them with the figure scatter",
                         (x.request.info->scope == Scope::neuron ? x : y).request.resultId());
    Matrix ofX = pairs.x;
    Matrix ofY = pairs.y;
    for (std::size_t cell = 0; cell < ofX.values().size(); ++cell)
        if (!std::isfinite(ofX.values()[cell]) || !std::isfinite(ofY.values()[cell]))
            ofX.values()[cell] = ofY.values()[cell] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> ranksX = cutOrder(ofX, x.request.info->pruneFirst);
    const std::vector<double> ranksY = cutOrder(ofY, y.request.info->pruneFirst);
    const auto count = std::ranges::count_if(ranksX, [](double rank) { return !std::isnan(rank); });
    Figure figure;
    figure.title = model.name;
    figure.x.label = unitLabel(pairs.scope);
    figure.y.label = "layer";
    figure.cells = Matrix(ofX.rows(), ofX.columns());
    for (std::size_t cell = 0; cell < ranksX.size(); ++cell)
        figure.cells.values()[cell] = (ranksY[cell] - ranksX[cell]) / static_cast<double>(std::max<long>(count - 1, 1));
    figure.colour.label = fmt::format("rank by {} − rank by {} (share of {})", axisLabel(y), axisLabel(x), count);
    figure.scale = {"vik", ScaleKind::linear, 0};
    figure.caption = figureCaption(model, figure.colour.label);
    figure.caption += " Rank 1 is pruned first.";
    if (hasEstimates(x, y))
        figure.caption += " Some of the values are estimates.";
    return figure;
}

std::string correlationText(const RankCorrelation& correlation, Scope scope) {
    return fmt::format("Spearman {} · Kendall {} · {}", inNumbers(correlation.spearman), inNumbers(correlation.kendall),
                       counted(correlation.count, thing(scope)));
}

} // namespace secateur
