#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/compensation_figure.h"
#include "analysis/figures/curve_rows.h"
#include "analysis/figures/evaluation_figure.h"
#include "analysis/figures/model_figures.h"
#include "analysis/figures/scatter_figure.h"
#include "analysis/gallery/figure_rows.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/report_choices.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/running/attention_reader.h"
#include "analysis/session/result_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// The result with this key. The key may be in the form for file names (resources/manual/formats.md, Result ids).
MetricResult namedResult(const Session& session, const std::string& text) {
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
                    known.empty() ? "It holds no results: measure a metric first"
                                  : fmt::format("It holds {}", join({known.begin(), known.end()}, ", ")));
    return *std::move(found);
}

double optionNumber(const FigureOptions& options, const std::string& name) {
    const std::string& text = options.at(name);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The option `layer` of figures that show one layer, or all layers: none for -1. @throws UsageError
std::optional<int> layerOf(const FigureOptions& options, const ModelSpec& spec) {
    const int layer = integerOption(options, "layer");
    if (layer < -1 || layer >= spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}; -1 shows all", spec.layerCount() - 1),
                         "layer=" + options.at("layer"));
    return layer < 0 ? std::nullopt : std::optional(layer);
}

/// Ids of the maps in widgets/plot/plot_scale.cpp.
constexpr std::array<std::string_view, 4> colourMaps{"viridis", "cividis", "magma", "vik"};

constexpr std::array scalesOfHeads{ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::rank,
                                   ScaleKind::withinLayer};
constexpr std::array scalesOfPoints{ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::rank};
constexpr std::array scalesOfAxes{ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic};

/// The scale that an option names. @param older an option of version 0.1, true or false, which wins if it is given
/// @throws UsageError
ScaleKind scaleOf(const FigureOptions& options, const std::string& option, const std::string& older,
                  std::span<const ScaleKind> allowed) {
    if (const std::string& given = options.at(older); !given.empty())
        return given == "true" ? ScaleKind::logarithmic : ScaleKind::linear;
    const std::string& text = options.at(option);
    const auto found = std::ranges::find(allowed, text, [](ScaleKind kind) { return name(kind); });
    if (found != allowed.end())
        return *found;
    std::vector<std::string> names;
    for (const ScaleKind kind : allowed)
        names.emplace_back(name(kind));
    throw UsageError("unknown scale; this figure has " + join(names, ", "), option + "=" + text);
}

ColourScale coloursOf(const FigureOptions& options, std::span<const ScaleKind> scales = scalesOfHeads) {
    const std::string& colours = options.at("colours");
    if (std::find(colourMaps.begin(), colourMaps.end(), colours) == colourMaps.end())
        throw UsageError(fmt::format("unknown colour map; the known ones are {}",
                                     join({colourMaps.begin(), colourMaps.end()}, ", ")),
                         colours);
    const double clip = optionNumber(options, "clip");
    if (clip < 0 || clip >= 50)
        throw UsageError("must be at least 0 and less than 50 percent", options.at("clip"));
    return {colours, options.contains("scale") ? scaleOf(options, "scale", "log", scales) : ScaleKind::linear, clip};
}

void checkColours(const FigureOptions& options) {
    coloursOf(options);
}

void checkAttention(const FigureOptions& options) {
    coloursOf(options, scalesOfAxes);
}

/// For figures with a linear or logarithmic axis.
ScaleKind axisScale(const FigureOptions& options) {
    return scaleOf(options, "scale", "log", scalesOfAxes);
}

void checkAxis(const FigureOptions& options) {
    axisScale(options);
}

void checkScatter(const FigureOptions& options) {
    scaleOf(options, "scalex", "logx", scalesOfPoints);
    scaleOf(options, "scaley", "logy", scalesOfPoints);
}

/// The session's mask with this name; null for an empty name. @throws Error for an unknown name
const SessionMask* namedMask(const Session& session, const std::string& name) {
    for (const SessionMask& mask : session.masks)
        if (mask.name == name)
            return &mask;
    if (!name.empty())
        throw Error(fmt::format("holds no mask \"{}\"", name), session.model.name);
    return nullptr;
}

/// The figure with the cuts of the mask that an option names.
Figure marked(Figure figure, const Session& session, const FigureOptions& options) {
    if (const SessionMask* mask = namedMask(session, options.at("mask")))
        figure.mask = mask->record.mask;
    return figure;
}

Figure heads(const Session& session, const FigureOptions& options) {
    const MetricResult result = namedResult(session, options.at("metric"));
    if (result.request.info->scope == Scope::neuron)
        throw UsageError("has one value per neuron, too many for a heat map; draw it with the figure neurons",
                         options.at("metric"));
    const ColourScale scale = coloursOf(options);
    if (scale.kind == ScaleKind::withinLayer && !suits(scale.kind, result.values.values()))
        throw UsageError("has negative values, which are no shares of the layer's largest; use another scale",
                         options.at("metric"));
    return marked(headMap(session.model, result, scale), session, options);
}

Figure layers(const Session& session, const FigureOptions& options) {
    std::vector<MetricResult> results;
    for (const std::string& id : split(options.at("metrics"), '/')) {
        results.push_back(namedResult(session, id));
        if (!results.back().request.info->classes.empty())
            throw UsageError("has classes, which have no mean; draw it with the figure heads", id);
    }
    return marked(layerSeries(session.model, results, axisScale(options)), session, options);
}

Figure neurons(const Session& session, const FigureOptions& options) {
    const MetricResult result = namedResult(session, options.at("metric"));
    if (result.request.info->scope != Scope::neuron)
        throw UsageError(fmt::format("has one value per {}; draw it with the figure heads or layers",
                                     name(result.request.info->scope)),
                         options.at("metric"));
    const std::optional<int> layer = layerOf(options, session.model.spec);
    Matrix quantiles(result.values.rows(), bandPercents.size());
    for (std::size_t row = 0; row < quantiles.rows(); ++row)
        std::ranges::copy(percentiles(result.values.row(row), bandPercents), quantiles.row(row).begin());
    const Figure bands = neuronBands(session.model, result, quantiles, axisScale(options));
    if (layer) // on the scale of all layers, as in the window
        return neuronHistogram(session.model, result, *layer, bands.y.logarithmic);
    return marked(bands, session, options);
}

Figure evaluations(const Session& session, const FigureOptions& options) {
    const SessionMask* mask = namedMask(session, options.at("mask"));
    return evaluationScatter(session, PriceList(session.model), mask ? mask->digest : std::string());
}

Figure scatter(const Session& session, const FigureOptions& options) {
    ScatterLook look;
    look.scaleX = scaleOf(options, "scalex", "logx", scalesOfPoints);
    look.scaleY = scaleOf(options, "scaley", "logy", scalesOfPoints);
    if (const SessionMask* mask = namedMask(session, options.at("mask")))
        look.mask = &mask->record.mask;
    return metricScatter(session.model, namedResult(session, options.at("x")), namedResult(session, options.at("y")),
                         look);
}

Figure rankDifferences(const Session& session, const FigureOptions& options) {
    return rankDifferenceMap(session.model, namedResult(session, options.at("x")),
                             namedResult(session, options.at("y")));
}

/// Runs a prompt and draws the attention map of one head.
Figure attention(const PromptInputs& inputs, const FigureOptions& options) {
    const HeadId id{integerOption(options, "layer"), integerOption(options, "head")};
    checkHead(inputs.model->spec(), id);
    AttentionRules rules;
    rules.type = inputs.type;
    const AttentionReader reader(inputs.model, inputs.mask, inputs.prompt.ids, rules);
    LayerAttention read = reader.layer(id.layer, id.head, inputs.progress);
    if (!read.map)
        throw Error("has no attention map: it is cut", headName(id.layer, id.head));
    const MapPyramid map(std::move(*read.map));
    return attentionFigure(inputs.model->card().name, id, map, inputs.prompt.labels, coloursOf(options, scalesOfAxes));
}

/// The head that the option `cut` names; empty for an empty text. @throws UsageError
std::optional<HeadId> cutHead(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(headOfOption("cut", text));
}

void checkGradientChange(const FigureOptions& options) {
    coloursOf(options);
    cutHead(options.at("cut"));
}

/// The two masks to compare. With the option `cut`, these are the mask, and the mask in which this head is cut too.
/// Without it, the dense model and the mask. @throws UsageError
GradientChangeRequest comparedMasks(const ModelSpec& spec, const PruningMask& mask, const FigureOptions& options) {
    GradientChangeRequest masks{mask, mask, options.at("scalarisation")};
    const std::optional<HeadId> cut = cutHead(options.at("cut"));
    if (cut) {
        checkHead(spec, *cut);
        setHeads(masks.after, std::array{*cut}, false);
        return masks;
    }
    if (mask.keepsAll())
        throw UsageError("names no head, and there is no mask: give cut=LAYER.HEAD or --mask FILE", "cut");
    masks.before = PruningMask(spec);
    return masks;
}

/// Draws the change of the gradients on a text between two masks.
Figure gradientChanges(const TextInputs& inputs, const FigureOptions& options) {
    const ModelSpec& spec = inputs.model.spec();
    const std::optional<int> layer = layerOf(options, spec);
    const GradientChangeRequest masks = comparedMasks(spec, inputs.plan.mask(), options);
    const GradientRun run{
        .plan = inputs.plan, .sequences = inputs.sequences, .labels = inputs.labels, .batchTokens = inputs.batchTokens};
    const GradientChange change = gradientChange(inputs.model, masks, run, inputs.progress);
    const std::optional<HeadId> cut = cutHead(options.at("cut"));
    return gradientChangeFigure(inputs.model.card(), change, layer,
                                cut ? headName(cut->layer, cut->head) : inputs.maskName, coloursOf(options));
}

constexpr OptionInfo markedMask{"mask", "text", "", "name of a mask in the session, whose cuts are marked"};
constexpr OptionInfo olderLog{"log", "bool", "", "older form of scale=log (true) or scale=linear (false)"};
constexpr OptionInfo axisScaleOption{"scale", "text", "auto",
                                     "auto, linear or log; auto is log if all values are positive and three quarters "
                                     "of them would be in the lowest quarter of a linear axis, else linear"};

constexpr std::array headsOptions{
    OptionInfo{"metric", "text", "gate_norm_head",
               "result id, with '.' and '-' in place of ':' and '='; RESULT@KEY selects one of several "
               "measurements, RESULT@KEY-OTHER the difference of two"},
    OptionInfo{"colours", "text", "viridis", "viridis, cividis, magma, or the diverging vik"},
    OptionInfo{"scale", "text", "auto",
               "auto, linear, log, rank (percentile in the model) or layer (share of the layer's largest); auto is log "
               "if all values are positive and linear colours would hide most differences, else linear"},
    OptionInfo{"clip", "number", "1", "per cent of the values beyond each end of the colour range"},
    markedMask,
    olderLog,
};

constexpr std::array layersOptions{
    OptionInfo{"metrics", "text", "gate_norm/gate_norm_headwise", "result ids, separated by '/'"},
    axisScaleOption,
    markedMask,
    olderLog,
};

constexpr std::array neuronsOptions{
    OptionInfo{"metric", "text", "mag_sp_neuron", "result id, with '.' and '-' in place of ':' and '='"},
    axisScaleOption,
    OptionInfo{"layer", "integer", "-1", "show the histogram of this layer; -1 = quantiles of all layers"},
    markedMask,
    olderLog,
};

constexpr std::array scatterOptions{
    OptionInfo{"x", "text", "gate_norm_head", "result on the horizontal axis, written as metric of the figure heads"},
    OptionInfo{"y", "text", "mag_sp_head", "result on the vertical axis"},
    OptionInfo{"scalex", "text", "auto", "horizontal axis: auto, linear, log or rank (percentile in the model)"},
    OptionInfo{"scaley", "text", "auto", "vertical axis: auto, linear, log or rank"},
    OptionInfo{"mask", "text", "", "name of a mask in the session, whose cut units are drawn as crosses"},
    OptionInfo{"logx", "bool", "", "older form of scalex=log (true) or scalex=linear (false)"},
    OptionInfo{"logy", "bool", "", "older form of scaley=log (true) or scaley=linear (false)"},
};

constexpr std::array rankDifferenceOptions{
    OptionInfo{"x", "text", "gate_norm_head",
               "result whose ranks are subtracted from those of y, written as metric of the figure heads"},
    OptionInfo{"y", "text", "mag_sp_head", "result from whose ranks those of x are subtracted"},
};

constexpr std::array evaluationsOptions{
    OptionInfo{"mask", "text", "", "name of a mask to highlight"},
};

constexpr std::array compensationOptions{
    OptionInfo{"mask", "text", "", "name of a mask; empty = the last one of the session that has fits"},
    OptionInfo{"value", "text", "mu", "mu, or error (squared error on the held-out tokens, before and after the fit)"},
};

constexpr std::array attentionOptions{
    OptionInfo{"layer", "integer", "0", "layer of the head, from 0"},
    OptionInfo{"head", "integer", "0", "head in the layer, from 0"},
    OptionInfo{"colours", "text", "viridis", "viridis, cividis or magma"},
    OptionInfo{"scale", "text", "linear", "linear, log or auto, as for the figure heads"},
    OptionInfo{"clip", "number", "1", "per cent of the values beyond each end of the colour range"},
    olderLog,
};

constexpr std::array gradientChangeOptions{
    OptionInfo{"clip", "number", "1", "per cent of the values beyond each end of the colour range"},
    OptionInfo{"colours", "text", "vik", "the diverging vik, or viridis, cividis or magma"},
    OptionInfo{"cut", "text", "",
               "head to cut, LAYER.HEAD, in addition to --mask; empty = compare --mask with the dense model"},
    OptionInfo{"layer", "integer", "-1", "show this layer; -1 = all layers, one below another"},
    OptionInfo{"scalarisation", "text", "auto", "scalar to differentiate, as for the metric gnorm"},
};

constexpr std::array generalRows{
    FigureInfo{"heads", "heat map of one metric over layers and heads", headsOptions, FromSession{heads, {"metric"}},
               checkColours, nullptr, headMapsOfReport},
    FigureInfo{"layers", "line plot of metrics over the layers", layersOptions, FromSession{layers, {"metrics"}},
               checkAxis, nullptr, layerLinesOfReport},
    FigureInfo{"neurons", "distribution of a neuron metric in each layer, or in one layer", neuronsOptions,
               FromSession{neurons, {"metric"}}, checkAxis, nullptr, neuronBandsOfReport},
    FigureInfo{"scatter", "scatter plot of one metric against another, one point per head", scatterOptions,
               FromSession{scatter, {"x", "y"}}, checkScatter},
    FigureInfo{"rank_difference", "heat map of the difference between two metrics' ranks of the heads",
               rankDifferenceOptions, FromSession{rankDifferences, {"x", "y"}}},
    FigureInfo{"evaluations",
               "loss against the number of kept parameters, for the evaluations of a session's latest text",
               evaluationsOptions, FromSession{evaluations}, nullptr, nullptr, evaluationsOfReport},
    FigureInfo{"curves", "quality against size for the strategies of a sweep", curvesOptions, FromSession{drawCurves},
               checkCurves, nullptr, curvesOfReport},
    FigureInfo{"removal_map", "where each strategy of a sweep cuts: share of each layer, by budget", removalMapOptions,
               FromSession{drawRemovalMap}, checkCurveMap, nullptr, setsOfReport},
    FigureInfo{"agreement", "overlap of the masks of a sweep's strategies at one budget", agreementOptions,
               FromSession{drawAgreement}, checkAgreement, nullptr, setsOfReport},
    FigureInfo{"stability", "overlap of a strategy's masks between calibration texts", stabilityOptions,
               FromSession{drawStability}, checkStability},
    FigureInfo{"compensation", "fits of a mask's compensation over the layers: chosen ridge, or held-out error",
               compensationOptions, FromSession{drawCompensation}, checkCompensation},
    FigureInfo{"gradient_change", "change of the gradients of the query weights when units are cut (Greedy-Gnorm)",
               gradientChangeOptions, FromText{gradientChanges, 2, 2}, checkGradientChange},
    FigureInfo{"attention", "attention map of one head over a prompt", attentionOptions, FromPrompt{attention},
               checkAttention},
};

} // namespace

std::span<const FigureInfo> generalFigures() {
    return generalRows;
}

} // namespace secateur
