#include "analysis/base/text.h"
#include "analysis/gallery/gate_norm_items.h"
#include "analysis/gallery/paper_points.h"
#include "analysis/gallery/paper_tables.h"
#include "analysis/gallery/published.h"
#include "analysis/gallery/recipe_commands.h"
#include "analysis/session/result_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur::gate_norm {

namespace {

Budget unitsOf(int amount) {
    return {static_cast<double>(amount), false, BudgetOf::own};
}

const PointColumn perplexityColumn{.title = "perplexity", .metric = "perplexity", .isLowBetter = true};

/// The published value of a row at a budget; a gap if there is none.
TableCell publishedCellOf(const std::vector<PublishedValue>& values, std::string_view strategy,
                          std::string_view budget) {
    for (const PublishedValue& value : values)
        if (value.strategy == strategy && value.ourBudget == budget)
            return publishedCell(value);
    return {};
}

bool hasNumber(const TableRow& row) {
    return std::ranges::any_of(row.cells, [](const TableCell& cell) { return !std::isnan(cell.value); });
}

/// Makes the lowest number of a column bold, if there are several.
void markLowest(FigureTable& table, std::size_t column) {
    TableCell* lowest = nullptr;
    int count = 0;
    for (TableRow& row : table.rows) {
        TableCell& cell = row.cells.at(column);
        if (row.isPublished || std::isnan(cell.value))
            continue;
        ++count;
        if (!lowest || cell.value < lowest->value)
            lowest = &cell;
    }
    if (lowest && count > 1)
        lowest->isBest = true;
}

// --- table 2 ---------------------------------------------------------------------------------------------------------

std::vector<PointColumn> taskColumns() {
    const auto column = [](std::string title, std::string_view task, std::string_view format, std::string_view metric) {
        return PointColumn{.title = std::move(title), .task = task, .format = format, .metric = metric, .factor = 100};
    };
    std::vector<PointColumn> columns{
        column("BoolQ", "boolq.jsonl", "boolq", "acc"),
        column("RTE", "rte.jsonl", "rte", "acc"),
        column("HellaSwag", "hellaswag.jsonl", "hellaswag", "acc_norm"),
        column("WinoG", "winogrande.jsonl", "winogrande", "acc"),
        column("ARC-E", "arc_easy.jsonl", "", "acc_norm"),
        column("ARC-C", "arc_challenge.jsonl", "", "acc_norm"),
        column("OpenBookQA", "openbook_qa.jsonl", "openbookqa", "acc_norm"),
    };
    columns.push_back({.title = "Avg Acc", .decimals = 2, .isAverage = true});
    columns.push_back({.title = "SpeedUp", .metric = "speedup", .decimals = 2});
    return columns;
}

struct MethodOfTable {
    std::string_view label;
    std::string_view type;
    std::string_view strategy;
    std::string_view data;  ///< whether it needs data
    std::string_view timed; ///< strategy whose masks stand for the speed of this count
};
constexpr std::array methodsOfTable{
    MethodOfTable{"Random", "Block", "random_block", "no", "block_influence"},
    MethodOfTable{"ShortGPT", "Block", "block_influence", "yes", "random_block"},
    MethodOfTable{"Random", "Attn", "random_attention", "no", "gate_norm"},
    MethodOfTable{"Data-driven", "Attn", "attention_importance", "yes", "gate_norm"},
    MethodOfTable{"Gate-Norm", "Attn", "gate_norm", "no", "attention_importance"},
};

PointRow methodRow(const MethodOfTable& method, const AdaptedBudget& budget, bool startsGroup) {
    PointRow row;
    row.lead = {textCell(std::string(method.label)), textCell(std::to_string(budget.ours)),
                textCell(std::string(method.type))};
    row.points = {.strategy = std::string(method.strategy), .budget = unitsOf(budget.ours)};
    row.tail = {textCell(std::string(method.data))};
    row.startsGroup = startsGroup;
    row.paperBudget = std::to_string(budget.paper);
    row.timedAs = {std::string(method.timed)};
    return row;
}

/// The largest count of blocks that the table has.
constexpr int mostBlocks = 8;

std::vector<PointRow> taskRows(int layers) {
    std::vector<PointRow> rows;
    PointRow dense;
    dense.lead = {textCell("Baseline"), textCell("0"), textCell("–")};
    dense.tail = {textCell("–")};
    rows.push_back(std::move(dense));
    std::string_view type;
    for (const MethodOfTable& method : methodsOfTable)
        for (const AdaptedBudget& budget : pairedBudgets(taskBudgets, paperLayers, layers)) {
            if (method.type == "Block" && budget.paper > mostBlocks)
                continue;
            rows.push_back(methodRow(method, budget, type != method.type));
            type = method.type;
        }
    return rows;
}

// --- table 3 ---------------------------------------------------------------------------------------------------------

struct RecoveryColumn {
    std::string_view title;
    std::string_view strategy; ///< empty = the dense model
    bool isRecovered;
};
constexpr std::array recoveryColumns{
    RecoveryColumn{"Unpruned", "", false}, RecoveryColumn{"Gate-Norm", "gate_norm", false},
    RecoveryColumn{"Gate-Norm + LoRA", "gate_norm", true}, RecoveryColumn{"Data-driven", "attention_importance", false},
    RecoveryColumn{"Data-driven + LoRA", "attention_importance", true}};

TablePoints pointsOf(const RecoveryColumn& column, const AdaptedBudget& budget) {
    return {
        .strategy = std::string(column.strategy), .budget = unitsOf(budget.ours), .isRecovered = column.isRecovered};
}

/// The published value of a column; a gap if there is none.
TableCell printedCell(const std::vector<PublishedValue>& values, const RecoveryColumn& column,
                      const AdaptedBudget& budget) {
    if (column.strategy.empty())
        return publishedCellOf(values, publishedDense, "0");
    const std::string strategy =
        std::string(column.strategy) + std::string(column.isRecovered ? publishedRecovered : "");
    return publishedCellOf(values, strategy, std::to_string(budget.paper));
}

} // namespace

Figure perplexityTable(const Session& session, const FigureOptions& options) {
    constexpr std::array methods{std::pair{"Random", "random_attention"},
                                 std::pair{"Data-driven", "attention_importance"}, std::pair{"Gate-Norm", "gate_norm"}};
    const std::vector<AdaptedBudget> budgets =
        pairedBudgets(tableBudgets, paperLayers, session.model.spec.layerCount());
    std::vector<TablePoints> wanted;
    for (const auto& method : methods)
        for (const AdaptedBudget& budget : budgets)
            wanted.push_back({.strategy = method.second, .budget = unitsOf(budget.ours)});
    const PointSource source(session, wanted);
    if (!source.curves(perplexityColumn))
        throw lacking(session, "curves with perplexities of gate_norm, attention_importance or random_attention",
                      "gate_norm", "curves");
    const std::vector<PublishedValue> published =
        publishedFor("gate_norm_table1", session.model, options.at("published"));
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Method", .isText = true}, {.title = "dense"}};
    for (const AdaptedBudget& budget : budgets)
        table.columns.push_back({.title = std::to_string(budget.ours), .group = "removed attention sublayers"});
    std::vector<std::string> gaps;
    for (const auto& [label, strategy] : methods) {
        TableRow row;
        TableRow printed{.cells = {}, .isPublished = true};
        row.cells = {textCell(label), numberCell(source.value(perplexityColumn, {}).value)};
        printed.cells = {textCell(fmt::format("{} (paper)", label)), {}};
        for (const AdaptedBudget& budget : budgets) {
            const PointValue value =
                source.value(perplexityColumn, {.strategy = strategy, .budget = unitsOf(budget.ours)});
            row.cells.push_back(numberCell(value.value));
            printed.cells.push_back(publishedCellOf(published, strategy, std::to_string(budget.paper)));
            if (value.repetitions == 0)
                gaps.push_back(fmt::format("{} {}", label, budget.ours));
        }
        table.rows.push_back(std::move(row));
        if (hasNumber(printed))
            table.rows.push_back(std::move(printed));
    }
    for (std::size_t column = 2; column < table.columns.size(); ++column)
        markLowest(table, column);
    addGapNote(table, gaps, session, "gate_norm", "curves");
    addPublishedNote(table);
    figure.caption =
        figureCaption(session.model, "Perplexity") + " " + source.conditions({perplexityColumn}) + " Random: means.";
    return figure;
}

Figure taskTable(const Session& session, const FigureOptions& options) {
    PointTable table;
    table.item = "gate_norm_table2";
    table.paper = "gate_norm";
    table.step = "tasks,tasks_blocks,speed,speed_blocks";
    table.published = options.at("published");
    table.what = "Accuracy (per cent) without and with removed sublayers";
    table.lead = {{.title = "Method", .isText = true}, {.title = "#Pruned"}, {.title = "Type", .isText = true}};
    table.columns = taskColumns();
    table.tail = {{.title = "Data required", .isText = true}};
    table.rows = taskRows(session.model.spec.layerCount());
    table.budgetColumn = 1;
    Figure figure = pointTable(session, table);
    figure.caption +=
        " SpeedUp: new tokens per second relative to the dense model; of each count and type one mask was "
        "timed.";
    return figure;
}

Figure recoveryTable(const Session& session, const FigureOptions& options) {
    const AdaptedBudget budget = pairedBudgets(recoveryBudgets, paperLayers, session.model.spec.layerCount()).front();
    std::vector<TablePoints> wanted;
    for (const RecoveryColumn& column : recoveryColumns)
        wanted.push_back(pointsOf(column, budget));
    const PointSource source(session, wanted);
    if (!source.curves(perplexityColumn))
        throw lacking(session,
                      fmt::format("curves with {} sublayers removed by gate_norm or attention_importance", budget.ours),
                      "gate_norm", "recovery");
    const std::vector<PublishedValue> published =
        publishedFor("gate_norm_table3", session.model, options.at("published"));
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Model", .isText = true}};
    TableRow row{.cells = {textCell(session.model.name)}};
    TableRow printed{.cells = {textCell(published.empty() ? "" : fmt::format("{} (paper)", published.front().model))},
                     .isPublished = true};
    std::vector<std::string> gaps;
    for (const RecoveryColumn& column : recoveryColumns) {
        table.columns.push_back({.title = std::string(column.title)});
        const PointValue value = source.value(perplexityColumn, pointsOf(column, budget));
        row.cells.push_back(numberCell(value.value));
        if (value.repetitions == 0)
            gaps.emplace_back(column.title);
        printed.cells.push_back(printedCell(published, column, budget));
    }
    table.rows.push_back(std::move(row));
    if (hasNumber(printed))
        table.rows.push_back(std::move(printed));
    addTrainingNote(table, *source.curves(perplexityColumn), wanted);
    addGapNote(table, gaps, session, "gate_norm", "recovery");
    addPublishedNote(table);
    figure.caption =
        figureCaption(session.model, fmt::format("Perplexity with {} attention sublayers removed, before and after "
                                                 "recovery training",
                                                 budget.ours)) +
        " " + source.conditions({perplexityColumn});
    return figure;
}

Figure scoringSeconds(const Session& session, const FigureOptions& options) {
    Figure figure = emptyTable(session);
    FigureTable& table = figure.table;
    table.columns = {{.title = "Score", .isText = true},
                     {.title = "Device", .isText = true},
                     {.title = "Reads", .isText = true},
                     {.title = "Seconds"}};
    std::vector<std::string> gaps;
    constexpr double briefSeconds = 0.1; // of which two decimals would show too little
    for (const auto& [label, id] :
         {std::pair{"Gate-Norm", "gate_norm"}, std::pair{"Data-driven", "attention_importance"}}) {
        const MetricResult* const result = session.latest(id);
        if (!result) {
            gaps.emplace_back(label);
            continue;
        }
        const std::string reads =
            result->data ? fmt::format("{} tokens", grouped(static_cast<std::uint64_t>(result->data->tokens)))
                         : "weights";
        if (result->seconds < briefSeconds)
            table.columns.back().decimals = 4;
        table.rows.push_back(
            {.cells = {textCell(label), textCell(result->measurement.device + ", " + result->measurement.dtype),
                       textCell(reads), numberCell(result->seconds)}});
    }
    if (table.rows.empty())
        throw lacking(session, "result of gate_norm or attention_importance", "gate_norm", "measure");
    for (const PublishedValue& value : publishedFor("gate_norm_timing", session.model, options.at("published"))) {
        const std::string_view device = value.row.substr(std::string_view("text: ").size());
        table.rows.push_back({.cells = {textCell("Gate-Norm (paper)"), textCell(std::string(device)),
                                        textCell("weights"), publishedCell(value)},
                              .isPublished = true});
    }
    addGapNote(table, gaps, session, "gate_norm", "measure");
    table.notes.emplace_back("Seconds of a forward pass are those of all metrics that were measured in it.");
    addPublishedNote(table);
    figure.caption = figureCaption(session.model, "Seconds of scoring all attention sublayers");
    return figure;
}

} // namespace secateur::gate_norm
