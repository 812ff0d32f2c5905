#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/latency.h"
#include "analysis/gallery/gate_norm_items.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/gallery/recipe_commands.h"
#include "analysis/session/result_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace secateur::gate_norm {

namespace {

constexpr std::string_view paperId = "gate_norm";

// --- figure 1 --------------------------------------------------------------------------------------------------------

/// The passes of the dense model that were timed by sublayer, by length: the latest of each.
std::map<int, const PrefillTiming*> timedPasses(const Session& session) {
    std::map<int, const PrefillTiming*> passes;
    for (const Evaluation& evaluation : session.evaluations)
        for (const Prefill& prefill : evaluation.prefills) {
            const bool isDense = evaluation.isOf("dense");
            const bool isReference = evaluation.timedAgainst.digest == "dense" && prefill.reference;
            if (isDense && prefill.run.bySublayer)
                passes[prefill.tokens] = &prefill.run;
            else if (!isDense && isReference && prefill.reference->bySublayer)
                passes[prefill.tokens] = &*prefill.reference;
        }
    return passes;
}

/// Adds the time of one layer in milliseconds: the median of the passes with a band from the 10th to the 90th
/// percentile. @param mean seconds of all layers, for sessions without the seconds of each pass
void addTime(FigureSeries& series, int tokens, double mean, const std::vector<double>& runs, double layers) {
    const auto milliseconds = [&](double percent) { return 1000 * percentile(runs, percent) / layers; };
    LinePoint point{.position = static_cast<double>(tokens),
                    .value = 1000 * mean / layers,
                    .name = grouped(static_cast<std::uint64_t>(tokens)) + " tokens"};
    if (!runs.empty()) {
        point.value = milliseconds(50);
        point.low = milliseconds(10);
        point.high = milliseconds(90);
    }
    addPoint(series, std::move(point));
}

// --- figure 4 --------------------------------------------------------------------------------------------------------

/// A line of figure 4. Colours stay the same in all panels.
struct CurveOfPaper {
    std::string_view strategy;
    std::string_view label;
    std::size_t colour;
    bool isInLowerPanel;
};
constexpr std::array curvesOfPaper{
    CurveOfPaper{"attention_importance", "data-driven", 0, true},
    CurveOfPaper{"gate_norm", "gate-norm", 2, true},
    CurveOfPaper{"random_attention", "random", 1, false},
    CurveOfPaper{"block_influence", "block influence (blocks)", 3, false},
};

std::vector<std::string_view> strategiesOfPaper() {
    std::vector<std::string_view> names;
    for (const CurveOfPaper& curve : curvesOfPaper)
        names.push_back(curve.strategy);
    return names;
}

/// The quantities of the vertical axis, in the order of preference.
std::vector<PointColumn> qualities() {
    return {{.title = "perplexity", .metric = "perplexity", .isLowBetter = true},
            {.title = "distance of pooled outputs", .metric = "pooled", .isLowBetter = true}};
}

/// A panel of figure 4. @param isUpper whether it has all lines and a logarithmic axis
Figure curvePanel(const PointSource& source, const PointColumn& quality, bool isUpper) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = source.session().model.name;
    figure.x.label = isUpper ? "removed attention sublayers (or blocks)" : "removed attention sublayers";
    figure.y = {quality.title, isUpper && quality.metric == "perplexity"};
    for (const CurveOfPaper& curve : curvesOfPaper) {
        if (!isUpper && !curve.isInLowerPanel)
            continue;
        FigureSeries line = unitLine(source, quality, std::string(curve.strategy), std::string(curve.label));
        line.colour = curve.colour;
        if (!line.values.empty())
            figure.series.push_back(std::move(line));
    }
    const PointValue dense = source.value(quality, {});
    if (dense.repetitions > 0)
        figure.series.push_back(denseLine("dense", dense.value));
    return figure;
}

/// Whether a panel shows more than the dense model.
bool hasPoints(const Figure& panel) {
    return std::ranges::any_of(panel.series, [](const FigureSeries& line) { return line.style != SeriesStyle::level; });
}

/// The upper and the lower panel of a session; empty if it has no points.
std::vector<Figure> panelsOf(const Session& session, std::string& caption) {
    const std::vector<std::string_view> strategies = strategiesOfPaper();
    const PointSource source(session, allPointsOf(session, strategies));
    for (const PointColumn& quality : qualities()) {
        if (!source.curves(quality))
            continue;
        Figure upper = curvePanel(source, quality, true);
        if (!hasPoints(upper))
            continue;
        caption += (caption.empty() ? "" : " ") +
                   figureCaption(session.model, "Perplexity against removed attention sublayers") + " " +
                   source.conditions({quality});
        return {std::move(upper), curvePanel(source, quality, false)};
    }
    return {};
}

// --- figure 5 --------------------------------------------------------------------------------------------------------

/// The layers that a metric of layers cuts first.
std::vector<bool> firstCut(const MetricResult& result, int count) {
    std::vector<double> values;
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
        values.push_back(result.values(layer, 0));
    const std::vector<int> order = ranks(values, true);
    std::vector<bool> cut;
    for (const int rank : order)
        cut.push_back(rank > 0 && rank <= count);
    return cut;
}

/// The number of layers that the option `k` names.
int layersToCut(const Session& session, const FigureOptions& options) {
    const int layers = session.model.spec.layerCount();
    const int given = integerOption(options, "k");
    if (given < 0 || given > layers)
        throw UsageError(fmt::format("the model has {} layers; 0 stands for the number of the paper", layers),
                         "k=" + options.at("k"));
    return given > 0 ? given : adaptedBudgets(std::array{stripBudget}, paperLayers, layers).front();
}

Figure strip(const Session& session, const FigureOptions& options) {
    const MetricResult* const byData = session.latest("attention_importance");
    const MetricResult* const byNorm = session.latest("gate_norm");
    if (!byData || !byNorm)
        throw lacking(session, byNorm ? "result of attention_importance" : "result of gate_norm", paperId, "measure");
    const int count = layersToCut(session, options);
    const std::array rows{firstCut(*byData, count), firstCut(*byNorm, count)};
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = session.model.name;
    figure.cells = Matrix(2, session.model.spec.layers.size());
    int both = 0;
    for (std::size_t layer = 0; layer < session.model.spec.layers.size(); ++layer) {
        for (std::size_t row = 0; row < 2; ++row)
            figure.cells(row, layer) = rows[row][layer] ? 1 : 0;
        both += rows[0][layer] && rows[1][layer] ? 1 : 0;
    }
    figure.x.label = fmt::format("layer ({} of {} removed by both)", both, count);
    figure.y.label = "selected by";
    figure.y.names = {"data-driven", "gate-norm"};
    figure.colour.label = "attention sublayer";
    figure.colour.names = {"kept", "removed"};
    figure.scale = {"viridis", ScaleKind::linear, 0};
    figure.caption =
        figureCaption(session.model, fmt::format("The {} attention sublayers removed first", count)) +
        fmt::format(" Data-driven: attention importance, measured on {}. Gate-norm: from the weights. Both remove {} "
                    "of the same layers. The paper counts layers from 1.",
                    measuredOn(session, *byData), both);
    return figure;
}

} // namespace

Figure sublayerTimes(const Session& session, const FigureOptions&) {
    const std::map<int, const PrefillTiming*> passes = timedPasses(session);
    if (passes.empty())
        throw lacking(session, "times by sublayer", paperId, "sublayers");
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = session.model.name;
    figure.x.label = "length (tokens)";
    figure.y.label = "time of a layer (ms)";
    figure.series.resize(2);
    figure.series[0].label = "attention";
    figure.series[1].label = "MLP";
    const auto layers = static_cast<double>(session.model.spec.layers.size());
    for (const auto& [tokens, pass] : passes) {
        const SublayerSeconds& seconds = *pass->bySublayer;
        addTime(figure.series[0], tokens, seconds.attentionTotal(), seconds.attentionRuns, layers);
        addTime(figure.series[1], tokens, seconds.mlpTotal(), seconds.mlpRuns, layers);
    }
    const bool hasRuns =
        std::ranges::any_of(passes, [](const auto& pass) { return !pass.second->bySublayer->attentionRuns.empty(); });
    const SublayerSeconds& longest = *passes.rbegin()->second->bySublayer;
    figure.caption =
        figureCaption(session.model, "Time of attention and MLP in a forward pass, mean over the layers") +
        fmt::format(" Batch size 1, without cache. {} "
                    "At {} tokens attention takes {} times as long as the MLP.",
                    hasRuns ? "Medians of the passes; bands: 10th to 90th percentile." : "Means over the passes.",
                    grouped(static_cast<std::uint64_t>(passes.rbegin()->first)),
                    significant(longest.attentionTotal() / longest.mlpTotal(), 3));
    return figure;
}

Figure attentionRatio(const Session& session, const FigureOptions&) {
    std::vector<MetricResult> results;
    for (const char* id : {"attention_ratio", "attention_ratio:exclude_first=true"})
        if (const MetricResult* result = session.latest(id)) {
            results.push_back(*result);
            results.back().label.clear();
        }
    if (results.empty())
        throw lacking(session, "result of attention_ratio", paperId, "measure");
    Figure figure = layerSeries(session.model, results, ScaleKind::linear);
    for (FigureSeries& series : figure.series)
        series.rightAxis = false; // one quantity
    figure.rightY = {};
    figure.series.front().label = "all tokens";
    if (figure.series.size() > 1)
        figure.series.back().label = "without the first token";
    figure.y.label = "attention ratio";
    figure.caption +=
        fmt::format(" Measured on {}. The paper counts layers from 1.", measuredOn(session, results.front()));
    return figure;
}

Figure perplexityCurves(const Session& session, const FigureOptions&) {
    Figure figure;
    figure.kind = FigureKind::grid;
    figure.title = session.model.name;
    std::vector<std::vector<Figure>> columns{panelsOf(session, figure.caption)};
    if (session.reference)
        columns.push_back(panelsOf(*session.reference, figure.caption));
    std::erase_if(columns, [](const auto& panels) { return panels.empty(); });
    if (columns.empty())
        throw lacking(session, "curves with gate_norm, attention_importance, random_attention or block_influence",
                      paperId, "curves");
    for (std::size_t row = 0; row < 2; ++row)
        for (const std::vector<Figure>& panels : columns) {
            figure.parts.push_back(panels[row]);
            if (row > 0 || columns.size() == 1) // the model is named once
                figure.parts.back().title.clear();
        }
    figure.gridColumns = columns.size();
    figure.caption += " Lower panel: the two that select attention sublayers. Band: least to greatest of the random "
                      "masks; its line: their mean.";
    return figure;
}

Figure removedLayers(const Session& session, const FigureOptions& options) {
    Figure own = strip(session, options);
    if (!session.reference)
        return own;
    Figure figure;
    figure.kind = FigureKind::grid;
    figure.title = session.model.name;
    figure.caption = own.caption;
    figure.parts.push_back(std::move(own));
    figure.parts.push_back(strip(*session.reference, options));
    figure.caption += " " + figure.parts.back().caption;
    return figure;
}

} // namespace secateur::gate_norm
