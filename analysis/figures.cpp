#include "analysis/evaluation_figure.h"
#include "analysis/figure.h"
#include "analysis/result_key.h"
#include "analysis/statistics.h"
#include "analysis/text.h"
#include "analysis/usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace secateur {

namespace {

using Options = std::map<std::string, std::string>;

std::string axisLabel(const MetricResult& result) {
    const MetricInfo& info = *result.request.info;
    std::string label(info.title);
    for (const auto& [name, value] : result.request.options)
        label += value == "true" ? fmt::format(", {}", name) : fmt::format(", {}={}", name, value);
    if (!info.unit.empty())
        label = fmt::format("{} ({})", label, info.unit);
    return result.label.empty() ? label : fmt::format("{}, {}", label, result.label);
}

std::string caption(const ModelCard& model, const std::string& what) {
    const LayerSpec widest = model.spec.layers.empty() ? LayerSpec{} : model.spec.layers.front();
    return fmt::format("{} of {} ({}, {} layers, {} heads, {} KV heads).", what, model.name, model.spec.architecture,
                       model.spec.layerCount(), widest.heads, widest.kvHeads);
}

/// A result by its key, whose id is written either as in the contract or in its file form.
MetricResult find(const Session& session, const std::string& text) {
    ResultKey key = parseResultKey(text);
    std::set<std::string> known;
    for (const MetricResult& result : session.results) {
        const std::string id = result.request.resultId();
        known.insert(id);
        if (fileForm(id) == key.resultId)
            key.resultId = id;
    }
    std::optional<MetricResult> found = resolveResult(session, key);
    if (!found)
        throw Error(fmt::format("holds no result \"{}\"", text), session.model.name,
                    known.empty() ? "It holds none at all: measure something first"
                                  : fmt::format("It holds {}", join({known.begin(), known.end()}, ", ")));
    return *std::move(found);
}

double number(const Options& options, const std::string& name) {
    const std::string& text = options.at(name);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Their colours are in the painter's table, under the same ids.
constexpr std::array<std::string_view, 4> colourMaps{"viridis", "cividis", "magma", "vik"};

Figure heads(const Session& session, const Options& options) {
    const std::string& colours = options.at("colours");
    if (std::find(colourMaps.begin(), colourMaps.end(), colours) == colourMaps.end())
        throw UsageError(fmt::format("unknown colour map; the known ones are {}",
                                     join({colourMaps.begin(), colourMaps.end()}, ", ")),
                         colours);
    const double clip = number(options, "clip");
    if (clip < 0 || clip >= 50)
        throw UsageError("clip should be at least 0 and less than 50 percent", options.at("clip"));
    const MetricResult result = find(session, options.at("metric"));
    if (result.request.info->scope == Scope::neuron)
        throw UsageError("has one value per neuron, too many for a heat map; draw it with the figure neurons",
                         options.at("metric"));
    return headMap(session.model, result, {colours, options.at("log") == "true", clip});
}

Figure layers(const Session& session, const Options& options) {
    std::vector<MetricResult> results;
    for (const std::string& id : split(options.at("metrics"), '/'))
        results.push_back(find(session, id));
    return layerSeries(session.model, results, options.at("log") == "true");
}

Figure neurons(const Session& session, const Options& options) {
    const MetricResult result = find(session, options.at("metric"));
    if (result.request.info->scope != Scope::neuron)
        throw UsageError(fmt::format("has one value per {}; draw it with the figure heads or layers",
                                     name(result.request.info->scope)),
                         options.at("metric"));
    const bool logarithmic = options.at("log") == "true";
    const double layer = number(options, "layer");
    if (layer >= session.model.spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}", session.model.spec.layerCount() - 1),
                         "layer=" + options.at("layer"));
    if (layer >= 0)
        return neuronHistogram(session.model, result, static_cast<int>(layer), logarithmic);
    Matrix quantiles(result.values.rows(), bandPercents.size());
    for (std::size_t row = 0; row < quantiles.rows(); ++row)
        std::ranges::copy(percentiles(result.values.row(row), bandPercents), quantiles.row(row).begin());
    return neuronBands(session.model, result, quantiles, logarithmic);
}

Figure evaluations(const Session& session, const Options& options) {
    std::string digest;
    for (const SessionMask& mask : session.masks)
        if (mask.name == options.at("mask"))
            digest = mask.digest;
    if (digest.empty() && !options.at("mask").empty())
        throw Error(fmt::format("holds no mask \"{}\"", options.at("mask")), session.model.name);
    return evaluationScatter(session, PriceList(session.model), digest);
}

constexpr std::array headsOptions{
    OptionInfo{"metric", "text", "gate_norm_head",
               "result id, with '.' and '-' for ':' and '=' in its options; @KEY behind it means one of several "
               "measurements, @KEY-OTHER their difference"},
    OptionInfo{"colours", "text", "viridis", "viridis, cividis, magma, or the diverging vik"},
    OptionInfo{"log", "bool", "false", "logarithmic colours"},
    OptionInfo{"clip", "number", "1", "percentile at which the colour range ends on either side"},
};

constexpr std::array layersOptions{
    OptionInfo{"metrics", "text", "gate_norm/gate_norm_headwise", "result ids, separated by '/'"},
    OptionInfo{"log", "bool", "false", "logarithmic axis"},
};

constexpr std::array neuronsOptions{
    OptionInfo{"metric", "text", "mag_sp_neuron", "result id, with '.' and '-' for ':' and '=' in its options"},
    OptionInfo{"log", "bool", "false", "logarithmic values"},
    OptionInfo{"layer", "integer", "-1", "the histogram of this layer alone; -1 = quantiles of all layers"},
};

constexpr std::array evaluationsOptions{
    OptionInfo{"mask", "text", "", "name of a mask to set apart"},
};

constexpr std::array table{
    FigureInfo{"heads", "one metric over layers and heads, as a heat map", headsOptions, heads},
    FigureInfo{"layers", "metrics over the layers, as lines", layersOptions, layers},
    FigureInfo{"neurons", "how a neuron metric is distributed in each layer, or in one", neuronsOptions, neurons},
    FigureInfo{"evaluations", "a session's evaluations of its latest text: quality against size", evaluationsOptions,
               evaluations},
};

std::string columnLabel(Scope scope) {
    return scope == Scope::kvGroup ? "KV group" : scope == Scope::head ? "head" : "";
}

/// The typical size of a result's values, for choosing its axis.
double typicalSize(const FigureSeries& series) {
    const auto [least, greatest] = finiteRange(series.values);
    return std::max(std::abs(least), std::abs(greatest));
}

void useRightAxisForUnlikeSizes(Figure& figure) {
    const double reference = typicalSize(figure.series.front());
    for (FigureSeries& series : figure.series) {
        const double ratio = typicalSize(series) / reference;
        series.rightAxis = ratio > 10 || ratio < 0.1;
    }
}

/// What all labels begin with, up to the end of one of them or a comma; empty when they have nothing in common.
std::string sharedLabel(const std::vector<std::string>& labels) {
    std::string shared = labels.front();
    for (const std::string& label : labels) {
        const auto differs = std::mismatch(shared.begin(), shared.end(), label.begin(), label.end());
        const bool labelEnds = differs.second == label.end() || *differs.second == ',';
        const bool sharedEnds = differs.first == shared.end() || *differs.first == ',';
        shared.erase(differs.first, shared.end());
        if (!labelEnds || !sharedEnds)
            shared.erase(std::min(shared.size(), shared.rfind(',')));
    }
    return shared.find_first_not_of(", ") == std::string::npos ? std::string() : shared;
}

/// The axis says what its lines share; the legend tells them apart.
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

/// One for each length that a result was measured over; else itself.
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

std::span<const FigureInfo> allFigures() {
    return table;
}

Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale) {
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = model.name;
    figure.x.label = columnLabel(result.request.info->scope);
    figure.y.label = "layer";
    figure.colour = {axisLabel(result), scale.logarithmic};
    figure.cells = result.values;
    figure.scale = scale;
    figure.caption = caption(model, axisLabel(result));
    if (result.standardError)
        figure.caption += " Some of the values are estimates.";
    return figure;
}

Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, bool logarithmic) {
    Figure figure;
    figure.kind = FigureKind::series;
    figure.title = model.name;
    figure.x.label = "layer";
    for (const MetricResult& result : results)
        for (const MetricResult& line : overLengths(result))
            figure.series.push_back(seriesOf(line));
    if (!figure.series.empty())
        useRightAxisForUnlikeSizes(figure);
    figure.y = {axisLabelOf(figure.series, false), logarithmic};
    figure.rightY = {axisLabelOf(figure.series, true), logarithmic};
    figure.caption =
        caption(model, figure.rightY.label.empty() ? figure.y.label : figure.y.label + ", " + figure.rightY.label);
    if (const std::string estimates = estimatesIn(figure); !estimates.empty())
        figure.caption += fmt::format(" Whiskers: ±{} standard errors; hollow: not separated from another layer. There "
                                      "are {}.",
                                      whiskerErrors, estimates);
    return figure;
}

Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, bool logarithmic) {
    Figure figure;
    figure.kind = FigureKind::bands;
    figure.title = model.name;
    figure.x.label = "layer";
    figure.y = {axisLabel(result), logarithmic};
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
    figure.caption = caption(model, figure.y.label + ": least and greatest value, percentiles 1, 10, 25, 75, 90 and 99 "
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
        caption(model, fmt::format("{} of the {} neurons in layer {}", figure.x.label, grouped(neurons), layer));
    return figure;
}

} // namespace secateur
