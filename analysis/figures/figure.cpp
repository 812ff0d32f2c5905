#include "analysis/figures/figure.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/metrics/request_title.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

namespace secateur {

namespace {

/// The largest magnitude of the values of a series, by which its axis is chosen.
double largestMagnitude(const FigureSeries& series) {
    const auto [least, greatest] = finiteRange(series.values);
    return std::max(std::abs(least), std::abs(greatest));
}

void useRightAxisForUnlikeSizes(Figure& figure) {
    const double reference = largestMagnitude(figure.series.front());
    for (FigureSeries& series : figure.series) {
        const double ratio = largestMagnitude(series) / reference;
        series.rightAxis = ratio > 10 || ratio < 0.1;
    }
}

/// Whether a text ends, or a word of it, at a place.
bool endsWord(const std::string& text, std::string::const_iterator at) {
    return at == text.end() || *at == ' ' || *at == ',';
}

/// The common prefix of all labels, up to a comma, or else of whole words. It may be empty.
std::string sharedLabel(const std::vector<std::string>& labels) {
    std::string shared = labels.front();
    for (const std::string& label : labels) {
        const auto differs = std::mismatch(shared.begin(), shared.end(), label.begin(), label.end());
        const bool labelEnds = differs.second == label.end() || *differs.second == ',';
        const bool sharedEnds = differs.first == shared.end() || *differs.first == ',';
        const bool isWhole = endsWord(label, differs.second) && endsWord(shared, differs.first);
        shared.erase(differs.first, shared.end());
        if (labelEnds && sharedEnds)
            continue;
        if (const std::size_t comma = shared.rfind(','); comma != std::string::npos)
            shared.erase(comma);
        else if (!isWhole)
            shared.erase(shared.find_last_of(' ') == std::string::npos ? 0 : shared.find_last_of(' '));
    }
    return shared.find_first_not_of(", ") == std::string::npos ? std::string() : shared;
}

/// The label of an axis: the common prefix of the labels of its lines. The legend shows the rest of each label.
std::string axisLabelOf(const std::vector<FigureSeries>& series, bool right) {
    std::vector<std::string> labels;
    for (const FigureSeries& line : series)
        if (line.rightAxis == right)
            labels.push_back(line.label);
    if (labels.empty())
        return {};
    const std::string shared = sharedLabel(labels);
    return shared.empty() ? join(labels, "; ") : shared;
}

/// Whether an axis is logarithmic under this scale, by the values of its lines.
bool isLogarithmic(const std::vector<FigureSeries>& series, bool right, ScaleKind scale) {
    std::vector<double> values;
    for (const FigureSeries& line : series)
        if (line.rightAxis == right)
            values.insert(values.end(), line.values.begin(), line.values.end());
    return usedScale(scale, values) == ScaleKind::logarithmic;
}

FigureSeries seriesOf(const MetricResult& result) {
    FigureSeries series;
    const bool isMean = result.request.info->scope != Scope::layer;
    series.label = isMean ? "mean " + axisLabel(result) : axisLabel(result);
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer) {
        series.values.push_back(finiteMean(result.values.row(layer)));
        if (result.standardError)
            series.errors.push_back(finiteMean(result.standardError->row(layer)));
    }
    if (!result.standardError)
        return series;
    series.notSeparated = notSeparated(series.values, series.errors);
    for (std::size_t layer = 0; layer < series.errors.size(); ++layer)
        series.notSeparated[layer] = series.notSeparated[layer] && series.errors[layer] > 0;
    return series;
}

/// One result for each prefix length. If the result has no prefix lengths, the result itself.
std::vector<MetricResult> overLengths(const MetricResult& result) {
    if (result.overLengths.size() < 2)
        return {result};
    std::vector<MetricResult> lines;
    for (std::size_t i = 0; i < result.overLengths.size(); ++i) {
        MetricResult& line = lines.emplace_back();
        line.request = result.request;
        line.request.options.erase("lengths");
        line.values = result.overLengths[i];
        line.label = fmt::format("{}{}{} tokens", result.label, result.label.empty() ? "" : ", ", result.lengths[i]);
    }
    return lines;
}

} // namespace

FigureBox boxOf(std::span<const double> values) {
    constexpr double reach = 1.5; // interquartile ranges
    std::vector<double> sorted;
    std::ranges::copy_if(values, std::back_inserter(sorted), [](double value) { return !std::isnan(value); });
    std::ranges::sort(sorted);
    const std::vector<double> quartiles = percentiles(sorted, std::array{25.0, 50.0, 75.0});
    FigureBox box;
    box.lower = box.q1 = quartiles[0];
    box.median = quartiles[1];
    box.upper = box.q3 = quartiles[2];
    const double range = reach * (box.q3 - box.q1);
    for (const double value : sorted) {
        if (value < box.q1 - range || value > box.q3 + range)
            box.outliers.push_back(value);
        box.lower = value >= box.q1 - range ? std::min(box.lower, value) : box.lower;
        box.upper = value <= box.q3 + range ? std::max(box.upper, value) : box.upper;
    }
    return box;
}

std::string axisLabel(const MetricResult& result) {
    const MetricInfo& info = *result.request.info;
    std::string label = titleOf(result.request);
    if (!info.unit.empty())
        label = fmt::format("{} ({})", label, info.unit);
    return result.label.empty() ? label : fmt::format("{}, {}", label, result.label);
}

std::string figureCaption(const ModelCard& model, const std::string& what) {
    const LayerSpec widest = model.spec.layers.empty() ? LayerSpec{} : model.spec.layers.front();
    return fmt::format("{} of {} ({}, {} layers, {} heads, {} KV heads).", what, model.name, model.spec.architecture,
                       model.spec.layerCount(), widest.heads, widest.kvHeads);
}

std::string unitLabel(Scope scope) {
    switch (scope) {
    case Scope::head:
        return "head";
    case Scope::kvGroup:
        return "KV group";
    case Scope::neuron:
        return "neuron";
    case Scope::layer:
        return {};
    }
    return {};
}

std::string colourOptions(const ColourScale& scale) {
    return fmt::format("colours={}:scale={}:clip={}", scale.map, name(scale.kind), exactly(scale.clipPercent));
}

std::string colourBarLabel(const Figure& figure) {
    return scaledLabel(figure.colour.label, figure.scale.kind);
}

Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale) {
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = model.name;
    figure.x.label = unitLabel(result.request.info->scope);
    figure.y.label = "layer";
    const std::span<const std::string_view> classes = result.request.info->classes;
    figure.cells = result.values;
    figure.scale = scale;
    figure.scale.kind =
        classes.empty() ? usedScale(scale.kind, result.values.values(), scale.clipPercent) : ScaleKind::linear;
    figure.colour.label = axisLabel(result);
    figure.colour.logarithmic = figure.scale.kind == ScaleKind::logarithmic;
    figure.colour.names = {classes.begin(), classes.end()};
    figure.rowBars = result.request.info->scope != Scope::layer;
    figure.caption = figureCaption(model, axisLabel(result));
    if (const std::string scaled = scaledLabel({}, figure.scale.kind); !scaled.empty())
        figure.caption += fmt::format(" Colours: {}.", scaled);
    if (result.standardError)
        figure.caption += " Some of the values are estimates.";
    return figure;
}

Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, ScaleKind scale) {
    Figure figure;
    figure.kind = FigureKind::series;
    figure.title = model.name;
    figure.x.label = "layer";
    for (const MetricResult& result : results)
        for (const MetricResult& line : overLengths(result))
            figure.series.push_back(seriesOf(line));
    if (!figure.series.empty())
        useRightAxisForUnlikeSizes(figure);
    figure.y = {axisLabelOf(figure.series, false), isLogarithmic(figure.series, false, scale)};
    figure.rightY = {axisLabelOf(figure.series, true), isLogarithmic(figure.series, true, scale)};
    figure.caption = figureCaption(model, figure.rightY.label.empty() ? figure.y.label
                                                                      : figure.y.label + ", " + figure.rightY.label);
    if (const std::string estimates = estimatesIn(figure); !estimates.empty())
        figure.caption += fmt::format(" Whiskers: ±{} standard errors; hollow: not separated from another layer. There "
                                      "are {}.",
                                      whiskerErrors, estimates);
    return figure;
}

Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, ScaleKind scale) {
    Figure figure;
    figure.kind = FigureKind::bands;
    figure.title = model.name;
    figure.x.label = "layer";
    figure.y = {axisLabel(result), usedScale(scale, quantiles.values()) == ScaleKind::logarithmic};
    for (std::size_t column = 0; column < bandPercents.size(); ++column) {
        const double percent = bandPercents[column];
        FigureSeries series;
        series.label = percent == 0     ? "min"
                       : percent == 50  ? "median"
                       : percent == 100 ? "max"
                                        : fmt::format("p{}", percent);
        for (std::size_t layer = 0; layer < quantiles.rows(); ++layer)
            series.values.push_back(quantiles(layer, column));
        figure.series.push_back(std::move(series));
    }
    figure.caption =
        figureCaption(model, figure.y.label + ": least and greatest value, percentiles 1, 10, 25, 75, 90 and 99 "
                                              "and the median of the neurons in each layer");
    return figure;
}

Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic) {
    const auto row = static_cast<std::size_t>(layer);
    const std::size_t neurons = cellsInLayer(Scope::neuron, model.spec.layers[row]);
    const Histogram counted = histogram(result.values.row(row), logarithmic);
    Figure figure;
    figure.kind = FigureKind::histogram;
    figure.title = fmt::format("{}, layer {}", model.name, layer);
    figure.x = {axisLabel(result), logarithmic};
    figure.y.label = "neurons";
    figure.edges = counted.edges;
    figure.series.push_back({"neurons", counted.counts, {}, false});
    figure.caption =
        figureCaption(model, fmt::format("{} of the {} neurons in layer {}", figure.x.label, grouped(neurons), layer));
    return figure;
}

std::string estimatesIn(const Figure& figure) {
    std::size_t positions = 0;
    for (const FigureSeries& series : figure.series)
        positions = std::max(positions, series.values.size());
    const auto count = [&](auto isMeant) {
        std::size_t counted = 0;
        for (std::size_t at = 0; at < positions; ++at)
            counted +=
                std::ranges::any_of(figure.series, [&](const FigureSeries& s) { return isMeant(s, at); }) ? 1 : 0;
        return counted;
    };
    const std::size_t estimates =
        count([](const FigureSeries& s, std::size_t at) { return at < s.errors.size() && s.errors[at] > 0; });
    const std::size_t mixed =
        count([](const FigureSeries& s, std::size_t at) { return at < s.notSeparated.size() && s.notSeparated[at]; });
    if (estimates == 0)
        return {};
    return fmt::format("estimates for {} of {} layers; {}", estimates, positions,
                       mixed == 0 ? "all separated" : fmt::format("{} not yet separated", mixed));
}

} // namespace secateur
