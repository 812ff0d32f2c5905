#include "analysis/gallery/bos_figures.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/strategies/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

namespace {

constexpr PaperStep bosRatioSweep{bosPaper, "ratios"};

constexpr std::array bosRatioLines{
    PaperLine{"sink_head", "BOS sink score", 0},
    PaperLine{"wanda_sp:components=heads", "Wanda-SP", 1},
    PaperLine{"mag_sp:components=heads", "Mag-SP", 2},
};

// --- figure 7 --------------------------------------------------------------------------------------------------------

/// The ratio of a budget in per cent; of one in heads, the share of all heads. That of the largest reachable budget if
/// the strategy could not reach more.
double bosRatioAt(const CurvePoint& point, double heads) {
    const Budget& budget = point.reached ? *point.reached : point.key.budget;
    return budget.isPercentage && budget.of == BudgetOf::own ? budget.amount / 100 : point.removed.heads / heads;
}

/// One of the two figures of a quality against the ratio; empty if no point has it.
std::optional<Figure> ratioFigure(const Session& session, const Curves& curves, const PaperQuality& quality,
                                  bool isLogarithmic) {
    const double heads = quality.scale.dense.heads.all;
    const PaperPosition ratio = [heads](const CurvePoint& point) { return bosRatioAt(point, heads); };
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.x.label = "ratio of pruned heads";
    figure.y.label = quality.label();
    figure.y.logarithmic = isLogarithmic;
    for (const PaperLine& line : bosRatioLines) {
        FigureSeries series = paperSeries(curveOfPaper(curves, line.strategy), line, ratio, quality);
        if (!series.values.empty())
            figure.series.push_back(std::move(series));
    }
    if (figure.series.empty())
        return std::nullopt;
    if (std::isfinite(quality.dense))
        figure.series.push_back(denseLevel(quality));
    const int layers = session.model.spec.layerCount();
    figure.x.range = AxisRange{0, 1.02 * std::max(0.5, (layers - 2.0) / std::max(layers, 1))};
    return figure;
}

/// The set of curves with points of MMLU; null if there is none.
const Curves* curvesWithMmlu(const Session& session, const PointColumn& mmlu) {
    const auto found = std::find_if(session.curves.rbegin(), session.curves.rend(), [&](const Curves& curves) {
        return taskOf(curves, mmlu) && curveOfPaper(curves, bosRatioLines.front().strategy);
    });
    return found == session.curves.rend() ? nullptr : &*found;
}

/// "heads pruned at 12.5%: 33 by sink_head, 30 by mag_sp": the strategies count ratios in different ways.
std::string countsText(const Curves& curves) {
    std::vector<std::string> counts;
    for (const PaperLine& line : bosRatioLines) {
        const Curve* curve = curveOfPaper(curves, line.strategy);
        if (!curve || budgetsOfPaper(*curve).empty())
            continue;
        const CurvePoint& point = *budgetsOfPaper(*curve).front().front();
        counts.push_back(fmt::format("{} by {} at {}", point.removed.heads, line.label, budgetText(point.key.budget)));
    }
    return counts.empty() ? std::string() : " Pruned heads: " + join(counts, ", ") + ".";
}

// --- tables ----------------------------------------------------------------------------------------------------------

std::vector<PointColumn> bosColumns() {
    std::vector<PointColumn> columns{
        {.title = "Wikitext-2", .metric = "perplexity", .isLowBetter = true},
    };
    const auto add = [&](const char* title, std::string_view task, std::string_view format = {}) {
        columns.push_back({.title = title, .task = task, .format = format, .metric = "acc", .decimals = 3});
    };
    add("ARC-c", "arc_challenge.jsonl");
    add("ARC-e", "arc_easy.jsonl");
    add("BoolQ", "boolq.jsonl", "boolq");
    add("HellaS.", "hellaswag.jsonl", "hellaswag");
    add("MMLU", "mmlu", "mmlu");
    add("OBQA", "openbook_qa.jsonl", "openbookqa");
    add("PIQA", "piqa.jsonl", "piqa");
    add("WG", "winogrande.jsonl", "winogrande");
    columns.push_back({.title = "Avg.", .decimals = 3, .isAverage = true});
    return columns;
}

/// A row of the tables of the paper.
struct BosRow {
    const char* label;
    const char* strategy;
};
constexpr std::array bosHeadRows{BosRow{"Mag-SP", "mag_sp:components=heads"},
                                 BosRow{"Wanda-SP", "wanda_sp:components=heads"},
                                 BosRow{"BOS sink score", "sink_head"}};
constexpr std::array bosBlockRows{BosRow{"Bottom Up", "bottom_up"}, BosRow{"Top Down", "top_down"},
                                  BosRow{"ShortGPT", "block_influence"}, BosRow{"BOS sink score", "sink_block"}};
/// The ratios of the option `ratio`, in per cent; empty = auto. @throws UsageError
std::vector<double> ratiosOfOption(const FigureOptions& options) {
    const std::string& text = options.at("ratio");
    std::vector<double> ratios;
    if (text == "auto")
        return ratios;
    for (const std::string& one : split(text, '/')) {
        double ratio = 0;
        const auto [end, failure] = std::from_chars(one.data(), one.data() + one.size(), ratio);
        if (failure != std::errc() || end != one.data() + one.size() || !(ratio > 0 && ratio <= 100))
            throw UsageError("should be numbers above 0, up to 100, separated by '/'", "ratio=" + text);
        ratios.push_back(ratio);
    }
    return ratios;
}

/// The number of units that a strategy removed at a ratio; a gap if the session has no such point.
TableCell removedCell(const Session& session, const TablePoints& wanted, int RemovedUnits::* units) {
    for (auto curves = session.curves.rbegin(); curves != session.curves.rend(); ++curves)
        for (const CurvePoint* point : PointSource::find(*curves, wanted))
            return numberCell(point->removed.*units);
    return {};
}

Figure bosTable(const Session& session, const FigureOptions& options, PointTable table, std::span<const BosRow> rows,
                int RemovedUnits::* units) {
    table.paper = bosRatioSweep.paper;
    table.step = "tables";
    table.published = options.at("published");
    table.lead = {{.title = "Strategy", .isText = true}, {.title = "Pruning Ratio", .decimals = 3}};
    table.budgetColumn = 1;
    table.columns = bosColumns();
    table.hidesEmptyRows = true;
    table.rows.push_back({.lead = {textCell("Dense"), numberCell(0)}, .points = {}, .tail = {TableCell{}}});
    std::vector<double> ratios = ratiosOfOption(options);
    if (ratios.empty())
        ratios = {bosRatioOf(session.model)};
    for (const double ratio : ratios)
        for (const BosRow& row : rows) {
            const TablePoints points{.strategy = row.strategy, .budget = {ratio, true, BudgetOf::own}};
            table.rows.push_back({.lead = {textCell(row.label), numberCell(ratio / 100)},
                                  .points = points,
                                  .tail = {removedCell(session, points, units)},
                                  .startsGroup = &row == &rows.front()});
        }
    return pointTable(session, table);
}

} // namespace

double bosRatioOf(const ModelCard& model) {
    for (const PublishedValue& value : publishedFor("bos_table1", model, "auto"))
        if (value.strategy != publishedDense)
            return parseBudget(value.ourBudget).amount;
    return 12.5;
}

void checkBosTable(const FigureOptions& options) {
    checkPublished(options);
    ratiosOfOption(options);
}

Figure drawBosRatios(const Session& session, const FigureOptions& options) {
    const PointColumn mmlu{.title = "MMLU", .task = "mmlu", .format = "mmlu", .metric = "acc"};
    const Curves& curves = curvesOfPaper(session, bosRatioLines, options, bosRatioSweep);
    const Curves* asked = taskOf(curves, mmlu) ? &curves : curvesWithMmlu(session, mmlu);
    const PaperQuality perplexity = qualityOfPaper(session.model, curves, "perplexity", {}, {});
    Figure grid;
    grid.kind = FigureKind::grid;
    grid.title = session.model.name;
    grid.gridColumns = 2;
    grid.caption = figureCaption(session.model, "quality against the ratio of pruned heads");
    if (asked) {
        const PaperQuality accuracy =
            qualityOfPaper(session.model, *asked, "task", taskOf(*asked, mmlu)->name, std::string(mmlu.metric));
        if (std::optional<Figure> left = ratioFigure(session, *asked, accuracy, false)) {
            grid.parts.push_back(*std::move(left));
            grid.caption += conditionsOfPaper(*asked, bosRatioLines, accuracy);
        }
    }
    if (grid.parts.empty())
        grid.note = "no accuracy on MMLU: " + recipeCommand(session, bosRatioSweep.paper, bosRatioSweep.step, true);
    if (std::optional<Figure> right = ratioFigure(session, curves, perplexity, true)) {
        right->note = gapsOfPaper(session, *right, bosRatioLines, bosRatioSweep);
        grid.parts.push_back(*std::move(right));
        grid.caption += conditionsOfPaper(curves, bosRatioLines, perplexity);
    }
    if (grid.parts.empty())
        throw lacking(session, "points with MMLU or a perplexity", bosRatioSweep.paper, bosRatioSweep.step);
    grid.gridColumns = grid.parts.size();
    grid.caption += countsText(curves) +
                    " sink_head counts the ratio of all heads; the others of each layer that is not "
                    "protected.";
    return grid;
}

Figure drawBosHeadTable(const Session& session, const FigureOptions& options) {
    PointTable table;
    table.item = "bos_table1";
    table.what = "Perplexity and accuracies with pruned heads";
    table.tail = {{.title = "Heads pruned", .decimals = 0}};
    return bosTable(session, options, std::move(table), bosHeadRows, &RemovedUnits::heads);
}

Figure drawBosBlockTable(const Session& session, const FigureOptions& options) {
    PointTable table;
    table.item = "bos_table2";
    table.what = "Perplexity and accuracies with pruned blocks";
    table.tail = {{.title = "Blocks pruned", .decimals = 0}};
    return bosTable(session, options, std::move(table), bosBlockRows, &RemovedUnits::blocks);
}

} // namespace secateur
