#include "analysis/base/text.h"
#include "analysis/gallery/amp_items.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/strategies/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur::amp_paper {

namespace {

const PointColumn ampPerplexity{.title = "perplexity", .metric = "perplexity", .isLowBetter = true};

/// A line over the share of removed parameters.
FigureSeries ratioLine(const PointSource& source, bool isRecovered, std::string label, std::size_t colour) {
    FigureSeries line;
    line.label = std::move(label);
    line.colour = colour;
    std::vector<std::pair<double, TablePoints>> places;
    constexpr std::array strategies{standard};
    for (const TablePoints& points : allPointsOf(source.session(), strategies))
        if (points.isRecovered == isRecovered && points.compensation == "own")
            places.emplace_back(removedShare(source.session(), points), points);
    std::ranges::sort(places, {}, [](const auto& place) { return place.first; });
    for (const auto& [share, points] : places) {
        const PointValue value = source.value(ampPerplexity, points);
        if (value.repetitions == 0)
            continue;
        addPoint(line, {.position = 100 * share, .value = value.value, .name = budgetText(points.budget)});
    }
    return line;
}

// --- tables of task scores -------------------------------------------------------------------------------------------

/// A table of the paper, with the dense model as its first row.
PointTable tableOf(std::string_view item, std::string_view published, std::string what) {
    PointTable table;
    table.item = item;
    table.paper = "amp";
    table.step = "tasks";
    table.published = published;
    table.what = std::move(what);
    table.lead = {{.title = "Pruning ratio", .isText = true}, {.title = "Method", .isText = true}};
    table.columns = ampColumns();
    table.methodColumn = 1;
    table.budgetColumn = 0;
    PointRow dense;
    dense.lead = {textCell("0 %"), textCell("dense")};
    table.rows.push_back(std::move(dense));
    return table;
}

/// Adds a row for pruned models, and one for recovered models if the session has any.
void addRows(PointTable& table, const Session& session, const std::string& label, std::string_view strategy, int ratio,
             bool startsGroup) {
    const int ours = adaptedRatio(ratio, session.model.spec.layerCount());
    for (const bool isRecovered : {false, true}) {
        PointRow row;
        row.points = pointsAt(strategy, ours, isRecovered);
        const double share = removedShare(session, row.points);
        if (isRecovered && std::isnan(share))
            continue;
        row.lead = {textCell(ratioText(share)), textCell(label + (isRecovered ? " + LoRA" : ""))};
        row.paperBudget = std::to_string(ratio);
        row.startsGroup = startsGroup && !isRecovered;
        table.rows.push_back(std::move(row));
    }
}

/// The ratios of which the model has budgets of its own: of several that become equal, the first.
std::vector<int> distinctRatios(std::span<const int> ratios, int layers) {
    std::vector<int> kept;
    for (const int ratio : ratios)
        if (kept.empty() || adaptedRatio(kept.back(), layers) != adaptedRatio(ratio, layers))
            kept.push_back(ratio);
    return kept;
}

/// Draws the table. Without recovered points a note says that the paper's models are recovered.
/// @param recovery RecipeStep::id of the trainings
Figure scoreTable(const Session& session, const PointTable& table, std::string_view recovery = "recovery") {
    Figure figure = pointTable(session, table);
    const bool hasRecovered =
        std::ranges::any_of(table.rows, [](const PointRow& row) { return row.points.isRecovered; });
    if (!hasRecovered)
        figure.table.notes.push_back("Pruned models without recovery training; the paper's are trained by LoRA. To "
                                     "train: " +
                                     recipeCommand(session, "amp", recovery));
    return figure;
}

/// The note about a point whose strategy could not remove as much as the budget asks.
void addReachedNote(FigureTable& table, const Session& session, const TablePoints& points, std::string_view label) {
    for (const Curves& curves : session.curves)
        for (const CurvePoint* point : PointSource::find(curves, points)) {
            if (!point->reached)
                continue;
            table.notes.push_back(fmt::format("{}: a budget of {} cannot be reached; the largest is {} ({} of the "
                                              "parameters).",
                                              label, budgetText(points.budget), budgetText(*point->reached),
                                              ratioText(removedShare(session, points))));
            return;
        }
}

} // namespace

std::string ratioText(double share) {
    return std::isnan(share) ? std::string("–") : fmt::format("{:.2f} %", 100 * share);
}

TablePoints pointsAt(std::string_view strategy, int ratio, bool isRecovered) {
    TablePoints points;
    points.strategy = strategy;
    points.budget = {static_cast<double>(ratio), false, BudgetOf::own};
    points.isRecovered = isRecovered;
    return points;
}

std::vector<PointColumn> ampColumns() {
    const auto column = [](std::string title, std::string_view task, std::string_view format, std::string_view metric) {
        return PointColumn{.title = std::move(title), .task = task, .format = format, .metric = metric, .factor = 100};
    };
    return {column("WinoGrande", "winogrande.jsonl", "winogrande", "acc"),
            column("HellaSwag", "hellaswag.jsonl", "hellaswag", "acc_norm"),
            column("ARC-e", "arc_easy.jsonl", "", "acc_norm"),
            column("ARC-c", "arc_challenge.jsonl", "", "acc_norm"),
            column("PIQA", "piqa.jsonl", "piqa", "acc_norm"),
            {.title = "Avg", .isAverage = true}};
}

int adaptedRatio(int ratio, int layers) {
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(ratio) * layers / paperLayers)));
}

Figure perplexityCurve(const Session& session, const FigureOptions&) {
    constexpr std::array strategies{standard};
    const PointSource source(session, allPointsOf(session, strategies));
    if (!source.curves(ampPerplexity))
        throw lacking(session, "curves with perplexities of amp", "amp", "perplexity");
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = session.model.name;
    figure.x.label = "removed parameters (%)";
    figure.y = {"perplexity", true};
    FigureSeries recovered = ratioLine(source, true, "with recovery training", 0);
    FigureSeries pruned = ratioLine(source, false, "without recovery training", 2);
    const bool isTrained = !recovered.values.empty();
    for (FigureSeries* line : {&recovered, &pruned})
        if (!line->values.empty())
            figure.series.push_back(std::move(*line));
    if (const PointValue dense = source.value(ampPerplexity, {}); dense.repetitions > 0) {
        figure.series.push_back(denseLine("dense", dense.value));
        figure.series.back().colour = 3; // red, as in the paper
    }
    figure.caption = figureCaption(session.model, "Perplexity against the share of removed parameters, by AMP") + " " +
                     source.conditions({ampPerplexity});
    if (!isTrained)
        figure.caption +=
            " Recovered models were not measured: " + recipeCommand(session, "amp", "recovery,recovery_half") + ".";
    return figure;
}

Figure methodsTable(const Session& session, const FigureOptions& options) {
    PointTable table = tableOf("amp_table1", options.at("published"), "Accuracy (per cent) of pruned models");
    for (const int ratio : distinctRatios(std::array{7, 10}, session.model.spec.layerCount()))
        addRows(table, session, "AMP", standard, ratio, true);
    return scoreTable(session, table);
}

Figure ordersTable(const Session& session, const FigureOptions& options) {
    PointTable table =
        tableOf("amp_table2", options.at("published"), "Accuracy (per cent) by the order in which units are removed");
    for (const int ratio : distinctRatios(ratios, session.model.spec.layerCount()))
        for (const auto& [label, strategy] :
             {std::pair{"AMP", standard}, std::pair{"Random", randomOrder}, std::pair{"Reversed", reversedOrder}})
            addRows(table, session, label, strategy, ratio, strategy == standard);
    return scoreTable(session, table);
}

Figure componentsTable(const Session& session, const FigureOptions& options) {
    PointTable table = tableOf("amp_table3", options.at("published"),
                               "Accuracy (per cent) without heads, without neurons, and without both");
    constexpr std::array parts{std::pair{"heads and neurons", standard}, std::pair{"neurons", neuronsOnly},
                               std::pair{"heads", headsOnly}};
    for (const auto& [label, strategy] : parts)
        addRows(table, session, label, strategy, componentRatio, strategy == standard);
    Figure figure = scoreTable(session, table, "recovery,recovery_components");
    const int ratio = adaptedRatio(componentRatio, session.model.spec.layerCount());
    for (const auto& [label, strategy] : parts)
        addReachedNote(figure.table, session, pointsAt(strategy, ratio), label);
    return figure;
}

} // namespace secateur::amp_paper
