#include "analysis/gallery/bos_figures.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/model_figures.h"
#include "analysis/gallery/option_values.h"
#include "analysis/metrics/attention_metrics.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/attention_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace secateur {

namespace {

constexpr std::array bosMaps{std::string_view("viridis"), std::string_view("cividis"), std::string_view("magma")};
constexpr std::string_view gemma = "Gemma-3-4B";

ColourScale mapScale(const FigureOptions& options) {
    const std::string& colours = options.at("colours");
    if (std::ranges::find(bosMaps, colours) == bosMaps.end())
        throw UsageError("unknown colour map; the known ones are viridis, cividis, magma", colours);
    const std::string& scale = options.at("scale");
    for (const ScaleKind kind : {ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic})
        if (name(kind) == scale)
            return {colours, kind, 0};
    throw UsageError("unknown scale; this figure has auto, linear, log", "scale=" + scale);
}

std::vector<HeadId> namedHeads(const std::string& option, const std::string& text) {
    std::vector<HeadId> heads;
    if (text != "auto")
        for (const std::string& one : split(text, '/'))
            heads.push_back(headOfOption(option, one));
    return heads;
}

/// Whether the paper shows heads of this model.
bool isGemmaOfPaper(const ModelCard& model) {
    const std::vector<PublishedValue> values = publishedFor("bos_table1", model, "auto");
    return !values.empty() && values.front().model == gemma;
}

/// A head's place in a result with its value.
struct BestHead {
    std::optional<HeadId> head;
    double value = 0;

    void offer(HeadId candidate, double own) {
        if (std::isfinite(own) && (!head || own > value)) {
            head = candidate;
            value = own;
        }
    }
};

HeadId headAt(std::size_t layer, std::size_t head) {
    return {static_cast<int>(layer), static_cast<int>(head)};
}

/// Measures metrics on the prompt.
std::vector<MetricResult> measuredOnPrompt(const PromptInputs& inputs, std::string_view metrics,
                                           const Progress& progress) {
    const auto plan = inputs.model->runner().plan(inputs.mask, inputs.type);
    const std::vector<int>& ids = inputs.prompt.ids;
    const std::vector<TokenSequence> sequences{TokenSequence{.ids = ids, .types = std::vector<int>(ids.size())}};
    return measureForward(*inputs.model, ForwardRun{.plan = *plan, .sequences = sequences},
                          parseMetricRequests(metrics), progress);
}

/// The head with the highest sink score on the prompt. @throws Error if no head is left
HeadId strongestSink(const PromptInputs& inputs, const Progress& progress) {
    const Matrix sinks = measuredOnPrompt(inputs, "sink_head", progress).front().values;
    BestHead best;
    for (std::size_t layer = 0; layer < sinks.rows(); ++layer)
        for (std::size_t head = 0; head < sinks.columns(); ++head)
            best.offer(headAt(layer, head), sinks(layer, head));
    if (!best.head)
        throw Error("has no head with attention", inputs.model->card().name);
    return *best.head;
}

/// A map of a figure: a head, or a class without a head.
struct PatternHead {
    std::string title;
    std::optional<HeadId> head;
};

/// The paper's names of the classes of attention_pattern.
std::string patternTitle(std::size_t index) {
    constexpr std::array titles{"BOS sink", "diagonal", "uniform", "random"};
    return titles.at(index);
}

/// Of each class, the head with the largest margin.
std::vector<PatternHead> typicalHeads(const PromptInputs& inputs, const Progress& progress) {
    const MetricResult result = measuredOnPrompt(inputs, "attention_pattern", progress).front();
    const auto margin = std::ranges::find(result.features, "margin", &MetricFeature::name);
    std::vector<BestHead> best(patternClasses().size());
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
        for (std::size_t head = 0; head < result.values.columns(); ++head)
            if (const double own = result.values(layer, head); std::isfinite(own))
                best.at(static_cast<std::size_t>(own)).offer(headAt(layer, head), margin->values(layer, head));
    if (std::ranges::none_of(best, [](const BestHead& one) { return one.head.has_value(); }))
        throw Error("is too short: the patterns of attention count from the ninth token on", "The prompt");
    std::vector<PatternHead> heads;
    for (std::size_t i = 0; i < best.size(); ++i)
        heads.push_back({patternTitle(i), best[i].head});
    return heads;
}

std::vector<PatternHead> chosenHeads(const PromptInputs& inputs, const FigureOptions& options,
                                     const Progress& progress) {
    if (options.at("heads") == "auto" && !isGemmaOfPaper(inputs.model->card()))
        return typicalHeads(inputs, progress);
    const bool isOfPaper = options.at("heads") == "auto";
    const std::vector<HeadId> named =
        isOfPaper ? std::vector<HeadId>{{31, 1}, {33, 7}, {2, 6}, {12, 7}} : namedHeads("heads", options.at("heads"));
    std::vector<PatternHead> heads;
    for (std::size_t i = 0; i < named.size(); ++i) {
        checkHead(inputs.model->spec(), named[i]);
        heads.push_back({isOfPaper ? patternTitle(i) : std::string(), named[i]});
    }
    return heads;
}

Figure mapOf(const PromptInputs& inputs, const AttentionReader& reader, HeadId id, const ColourScale& scale,
             const Progress& progress) {
    LayerAttention read = reader.layer(id.layer, id.head, progress);
    if (!read.map)
        throw Error("has no attention map: it is cut", headName(id.layer, id.head));
    const MapPyramid map(std::move(*read.map));
    return attentionFigure(inputs.model->card().name, id, map, inputs.prompt.labels, scale);
}

/// A map without values, for a class without a head.
Figure emptyMap(const Figure& like) {
    Figure figure = like;
    figure.cells = Matrix(like.cells.rows(), like.cells.columns());
    figure.colour.range = AxisRange{0, 1};
    figure.scale.kind = ScaleKind::linear;
    figure.colour.logarithmic = false;
    return figure;
}

AttentionReader readerOf(const PromptInputs& inputs, int side) {
    AttentionRules rules;
    rules.type = inputs.type;
    rules.thumbnailSide = side;
    return AttentionReader(inputs.model, inputs.mask, inputs.prompt.ids, rules);
}

/// Number of tokens along an edge of a cell, if a map has at most `side` cells along its edges.
int tokensOfCell(int tokens, int side) {
    return (tokens + side - 1) / side;
}

/// Names of every so many units, at the middle of their maps.
std::vector<AxisTick> sheetTicks(int units, int side) {
    constexpr int mostNames = 20;
    const int every = (units + mostNames - 1) / mostNames;
    std::vector<AxisTick> ticks;
    for (int unit = 0; unit < units; unit += every)
        ticks.push_back({unit * (side + 1.0) + (side - 1) / 2.0, std::to_string(unit)});
    return ticks;
}

/// Names of the rows or columns of a sheet, for files of its numbers: "L2 query 7". Gaps have no name.
std::vector<std::string> sheetNames(char unit, const char* what, int units, int side) {
    std::vector<std::string> names;
    for (int cell = 0; cell < units * (side + 1) - 1; ++cell)
        names.push_back(cell % (side + 1) < side
                            ? fmt::format("{}{} {} {}", unit, cell / (side + 1), what, cell % (side + 1))
                            : std::string());
    return names;
}

/// Copies a small map to its place in the sheet. Keys that a query does not see stay empty.
void placeMap(Matrix& sheet, const AttentionThumbnail& map) {
    const auto corner = [&](int unit) { return static_cast<std::size_t>(unit * (map.side + 1)); };
    const auto side = static_cast<std::size_t>(map.side);
    for (std::size_t row = 0; row < side; ++row)
        for (std::size_t column = 0; column < side; ++column)
            if (const float value = map.values[row * side + column]; value > 0)
                sheet(corner(map.head.layer) + row, corner(map.head.head) + column) = static_cast<double>(value);
}

} // namespace

void checkBosMap(const FigureOptions& options) {
    mapScale(options);
    if (namedHeads("head", options.at("head")).size() > 1)
        throw UsageError("should name one head", "head=" + options.at("head"));
}

void checkBosPatterns(const FigureOptions& options) {
    mapScale(options);
    namedHeads("heads", options.at("heads"));
}

void checkBosSheet(const FigureOptions& options) {
    mapScale(options);
    if (const int side = integerOption(options, "side"); side < 4 || side > 96)
        throw UsageError("should be from 4 to 96", "side=" + options.at("side"));
}

Figure drawBosMap(const PromptInputs& inputs, const FigureOptions& options) {
    const std::vector<HeadId> named = namedHeads("head", options.at("head"));
    const HeadId head = !named.empty()                         ? named.front()
                        : isGemmaOfPaper(inputs.model->card()) ? HeadId{26, 0}
                                                               : strongestSink(inputs, inputs.progress.part(0, 0.4));
    checkHead(inputs.model->spec(), head);
    const AttentionReader reader = readerOf(inputs, 1);
    return mapOf(inputs, reader, head, mapScale(options), inputs.progress.part(0.4, 1));
}

Figure drawBosPatterns(const PromptInputs& inputs, const FigureOptions& options) {
    const std::vector<PatternHead> heads = chosenHeads(inputs, options, inputs.progress.part(0, 0.4));
    const AttentionReader reader = readerOf(inputs, 1);
    Figure grid;
    grid.kind = FigureKind::grid;
    grid.title = inputs.model->card().name;
    grid.gridColumns = 2;
    std::vector<std::string> names;
    std::optional<std::size_t> drawn;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const PatternHead& one = heads[i];
        Figure& map = grid.parts.emplace_back();
        const std::string head = one.head ? headName(one.head->layer, one.head->head) : "no head";
        names.push_back(one.title.empty() ? head : one.title + ": " + head);
        if (one.head) {
            map = mapOf(inputs, reader, *one.head, mapScale(options), inputs.progress.part(0.4, 1));
            map.colour.label = "attention";
            drawn = i;
        }
    }
    for (std::size_t i = 0; i < heads.size(); ++i) {
        if (!heads[i].head)
            grid.parts[i] = emptyMap(grid.parts[*drawn]);
        grid.parts[i].title = names[i];
    }
    grid.caption = fmt::format("{}: attention maps over {} tokens. {}.", inputs.model->card().name,
                               grouped(static_cast<std::uint64_t>(reader.tokens())), join(names, "; "));
    return grid;
}

Figure drawBosSheet(const PromptInputs& inputs, const FigureOptions& options) {
    const ModelSpec& spec = inputs.model->spec();
    const int most = integerOption(options, "side");
    const AttentionReader reader = readerOf(inputs, most);
    const int step = tokensOfCell(reader.tokens(), most);
    const int side = (reader.tokens() + step - 1) / step; // as AttentionReader pools
    const auto cells = [&](int units) { return static_cast<std::size_t>(units * (side + 1) - 1); };
    Figure figure;
    figure.cells = Matrix(cells(spec.layerCount()), cells(std::max(spec.maxHeads(), 1)));
    int drawn = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const double share = 1.0 / spec.layerCount();
        const Progress own = inputs.progress.part(share * layer, share * (layer + 1));
        for (const AttentionThumbnail& map : reader.layer(layer, {}, own).thumbnails) {
            placeMap(figure.cells, map);
            ++drawn;
        }
    }
    if (drawn == 0)
        throw Error("has no attention map: all heads are cut", inputs.model->card().name);
    figure.title = inputs.model->card().name;
    figure.x.label = "head";
    figure.y.label = "layer";
    figure.x.names = sheetNames('H', "key", spec.maxHeads(), side);
    figure.y.names = sheetNames('L', "query", spec.layerCount(), side);
    figure.x.ticks = sheetTicks(spec.maxHeads(), side);
    figure.y.ticks = sheetTicks(spec.layerCount(), side);
    const ColourScale scale = mapScale(options);
    figure.scale = scale;
    figure.scale.kind = usedScale(scale.kind, figure.cells.values(), scale.clipPercent);
    figure.colour = {"attention", figure.scale.kind == ScaleKind::logarithmic, {}, {}};
    if (figure.scale.kind == ScaleKind::linear)
        figure.colour.range = AxisRange{0, 1};
    figure.caption = fmt::format("{}: attention maps of {} over a prompt of {} tokens, keys across and queries down{}.",
                                 inputs.model->card().name, counted(static_cast<std::uint64_t>(drawn), "head"),
                                 grouped(static_cast<std::uint64_t>(reader.tokens())),
                                 step == 1 ? "" : fmt::format("; a cell is the maximum of {0} x {0} pairs", step));
    return figure;
}

} // namespace secateur
