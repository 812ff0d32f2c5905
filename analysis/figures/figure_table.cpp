#include "analysis/figures/model_figures.h"
#include "analysis/figures/evaluation_figure.h"
#include "analysis/figures/figure.h"
#include "analysis/figures/figure_text.h"
#include "analysis/figures/gradient_change_figure.h"
#include "analysis/session/result_key.h"
#include "analysis/figures/scatter_figure.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

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

ColourScale coloursOf(const Options& options) {
    const std::string& colours = options.at("colours");
    if (std::find(colourMaps.begin(), colourMaps.end(), colours) == colourMaps.end())
        throw UsageError(fmt::format("unknown colour map; the known ones are {}",
                                     join({colourMaps.begin(), colourMaps.end()}, ", ")),
                         colours);
    const double clip = number(options, "clip");
    if (clip < 0 || clip >= 50)
        throw UsageError("clip should be at least 0 and less than 50 percent", options.at("clip"));
    return {colours, options.contains("log") && options.at("log") == "true", clip};
}

Figure heads(const Session& session, const Options& options) {
    const ColourScale scale = coloursOf(options);
    const MetricResult result = find(session, options.at("metric"));
    if (result.request.info->scope == Scope::neuron)
        throw UsageError("has one value per neuron, too many for a heat map; draw it with the figure neurons",
                         options.at("metric"));
    return headMap(session.model, result, scale);
}

Figure layers(const Session& session, const Options& options) {
    std::vector<MetricResult> results;
    for (const std::string& id : split(options.at("metrics"), '/')) {
        results.push_back(find(session, id));
        if (!results.back().request.info->classes.empty())
            throw UsageError("has classes, and those have no mean; draw it with the figure heads", id);
    }
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

/// A mask of the session by its name; null for none.
const SessionMask* namedMask(const Session& session, const std::string& name) {
    for (const SessionMask& mask : session.masks)
        if (mask.name == name)
            return &mask;
    if (!name.empty())
        throw Error(fmt::format("holds no mask \"{}\"", name), session.model.name);
    return nullptr;
}

Figure evaluations(const Session& session, const Options& options) {
    const SessionMask* mask = namedMask(session, options.at("mask"));
    return evaluationScatter(session, PriceList(session.model), mask ? mask->digest : std::string());
}

Figure scatter(const Session& session, const Options& options) {
    ScatterLook look;
    look.logarithmicX = options.at("logx") == "true";
    look.logarithmicY = options.at("logy") == "true";
    if (const SessionMask* mask = namedMask(session, options.at("mask")))
        look.mask = &mask->record.mask;
    return metricScatter(session.model, find(session, options.at("x")), find(session, options.at("y")), look);
}

Figure rankDifferences(const Session& session, const Options& options) {
    return rankDifferenceMap(session.model, find(session, options.at("x")), find(session, options.at("y")));
}

Figure attention(const Session& session, const Options& options) {
    coloursOf(options);
    throw Error("holds no text that was run; this figure needs the checkpoint itself", session.model.path,
                "Name a checkpoint, and a text with --prompt");
}

Figure gradientChanges(const Session& session, const Options& options) {
    coloursOf(options);
    throw Error("holds no gradients; this figure needs the checkpoint itself", session.model.path,
                "Name a checkpoint, and what is cut: cut=LAYER.HEAD or --mask");
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

constexpr std::array scatterOptions{
    OptionInfo{"x", "text", "gate_norm_head", "result along the horizontal axis, spelt as for heads"},
    OptionInfo{"y", "text", "mag_sp_head", "result along the vertical axis"},
    OptionInfo{"logx", "bool", "false", "logarithmic horizontal axis"},
    OptionInfo{"logy", "bool", "false", "logarithmic vertical axis"},
    OptionInfo{"mask", "text", "", "name of a session's mask: what it cuts is a cross"},
};

constexpr std::array rankDifferenceOptions{
    OptionInfo{"x", "text", "gate_norm_head", "result whose ranks are taken away, spelt as for heads"},
    OptionInfo{"y", "text", "mag_sp_head", "result whose ranks these are taken from"},
};

constexpr std::array evaluationsOptions{
    OptionInfo{"mask", "text", "", "name of a mask to set apart"},
};

constexpr std::array attentionOptions{
    OptionInfo{"layer", "integer", "0", "layer of the head, from 0"},
    OptionInfo{"head", "integer", "0", "the head in its layer, from 0"},
    OptionInfo{"colours", "text", "viridis", "viridis, cividis or magma"},
    OptionInfo{"log", "bool", "false", "logarithmic colours"},
    OptionInfo{"clip", "number", "1", "percentile at which the colour range ends on either side"},
};

constexpr std::array gradientChangeOptions{
    OptionInfo{"clip", "number", "1", "percentile at which the colour range ends on either side"},
    OptionInfo{"colours", "text", "vik", "vik, the diverging one, viridis, cividis or magma"},
    OptionInfo{"cut", "text", "",
               "the head that is cut, LAYER.HEAD, beside what --mask cuts; without it that is the cut"},
    OptionInfo{"layer", "integer", "-1", "this layer alone; -1 = all, one beneath another"},
    OptionInfo{"scalarisation", "text", "auto", "what is differentiated, as of the metric gnorm"},
};

constexpr std::array figureTable{
    FigureInfo{"heads", "one metric over layers and heads, as a heat map", headsOptions, heads},
    FigureInfo{"layers", "metrics over the layers, as lines", layersOptions, layers},
    FigureInfo{"neurons", "how a neuron metric is distributed in each layer, or in one", neuronsOptions, neurons},
    FigureInfo{"scatter", "one metric against another, a point for each head", scatterOptions, scatter},
    FigureInfo{"rank_difference", "where two metrics rank the heads differently, as a heat map", rankDifferenceOptions,
               rankDifferences},
    FigureInfo{"evaluations", "a session's evaluations of its latest text: quality against size", evaluationsOptions,
               evaluations},
    FigureInfo{"gradient_change", "how the gradients of query weights change when something is cut (Greedy-Gnorm)",
               gradientChangeOptions, gradientChanges},
    FigureInfo{"attention", "what the tokens of a prompt attend to, by one head", attentionOptions, attention},
};

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

std::optional<AttentionRequest> attentionRequest(std::string_view figure) {
    ParsedRequest parsed = parseRequest(figure);
    if (figureOf(parsed.id).make != attention)
        return std::nullopt;
    validateOptions(parsed, attentionOptions);
    Options options;
    for (const OptionInfo& option : attentionOptions)
        options[std::string(option.name)] = optionValue(parsed.options, attentionOptions, option.name);
    return AttentionRequest{{static_cast<int>(number(options, "layer")), static_cast<int>(number(options, "head"))},
                            coloursOf(options)};
}

std::optional<GradientFigureRequest> gradientFigureRequest(std::string_view figure) {
    ParsedRequest parsed = parseRequest(figure);
    if (figureOf(parsed.id).make != gradientChanges)
        return std::nullopt;
    validateOptions(parsed, gradientChangeOptions);
    Options options;
    for (const OptionInfo& option : gradientChangeOptions)
        options[std::string(option.name)] = optionValue(parsed.options, gradientChangeOptions, option.name);
    GradientFigureRequest request;
    request.scale = coloursOf(options);
    request.scalarisation = options.at("scalarisation");
    if (const int layer = static_cast<int>(number(options, "layer")); layer >= 0)
        request.layer = layer;
    if (const std::vector<std::string> cut = split(options.at("cut"), '.'); !options.at("cut").empty()) {
        const auto whole = [&](const std::string& text) {
            int value = -1;
            const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
            return failure == std::errc() && end == text.data() + text.size() ? value : -1;
        };
        request.cut = HeadId{whole(cut.front()), whole(cut.back())};
        if (cut.size() != 2 || request.cut->layer < 0 || request.cut->head < 0)
            throw UsageError("should name a head: LAYER.HEAD", "cut=" + options.at("cut"));
    }
    return request;
}

std::span<const FigureInfo> allFigures() {
    return figureTable;
}

Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale) {
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = model.name;
    figure.x.label = unitLabel(result.request.info->scope);
    figure.y.label = "layer";
    const std::span<const std::string_view> classes = result.request.info->classes;
    figure.colour = {axisLabel(result), scale.logarithmic && classes.empty(), {}, {classes.begin(), classes.end()}};
    figure.cells = result.values;
    figure.scale = scale;
    figure.caption = figureCaption(model, axisLabel(result));
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
    figure.caption = figureCaption(model, figure.rightY.label.empty() ? figure.y.label
                                                                      : figure.y.label + ", " + figure.rightY.label);
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

} // namespace secateur
