#include "analysis/base/shown_text.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/masks/price.h"
#include "analysis/report/report_sections.h"
#include "analysis/strategies/budget.h"
#include "analysis/tasks/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace secateur {

namespace {

/// A quantity of the points of a set of curves.
struct ReportColumn {
    TableColumn column;
    std::function<double(const CurvePoint&)> value; ///< NaN = not measured
    std::function<double(const CurvePoint&)> error; ///< standard error of the value; empty = none
};

ReportColumn memberColumn(const char* title, int decimals, double CurvePoint::* value,
                          double CurvePoint::* error = nullptr) {
    ReportColumn column{{title, decimals}, [value](const CurvePoint& point) { return point.*value; }, {}};
    if (error)
        column.error = [error](const CurvePoint& point) { return point.*error; };
    return column;
}

ReportColumn taskColumn(const CurveTask& task) {
    constexpr int decimals = 4;
    const std::string metric(taskFormat(task.format).metric);
    const auto of = [name = task.name, metric](const CurvePoint& point) { return point.metric(name, metric); };
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {{.title = fmt::format("{} {}", shownLine(task.name), metric), .decimals = decimals},
            [of, none](const CurvePoint& point) { return of(point) ? of(point)->value : none; },
            [of, none](const CurvePoint& point) { return of(point) ? of(point)->standardError : none; }};
}

std::vector<ReportColumn> columnsOf(const Curves& curves, const Price& dense) {
    const auto all = static_cast<double>(dense.parameters.all);
    std::vector<ReportColumn> columns;
    columns.push_back(
        {{"Parameters cut (%)", 2},
         [all](const CurvePoint& point) { return 100 * (1 - static_cast<double>(point.parameters) / all); },
         {}});
    columns.push_back(memberColumn("Perplexity", 2, &CurvePoint::perplexity));
    columns.push_back(memberColumn("Difference (nats)", 4, &CurvePoint::deltaNats, &CurvePoint::deltaStandardError));
    columns.push_back(
        memberColumn("Pooled distance", 4, &CurvePoint::pooledDistance, &CurvePoint::pooledStandardError));
    for (const CurveTask& task : curves.tasks)
        columns.push_back(taskColumn(task));
    columns.push_back(memberColumn("Tokens/s", 2, &CurvePoint::tokensPerSecond));
    return columns;
}

/// The mean of a column over repetitions. Its error is known only for a single point.
TableCell meanCell(const ReportColumn& column, std::span<const CurvePoint* const> points) {
    std::vector<double> values;
    for (const CurvePoint* point : points)
        if (point->isChosen())
            values.push_back(column.value(*point));
    const double error = points.size() == 1 && column.error ? column.error(*points.front()) : 0;
    return reportNumber(finiteMean(values), std::isfinite(error) ? error : 0);
}

std::string budgetOf(const CurvePoint& point) {
    std::string text = budgetText(point.key.budget);
    if (point.reached)
        text += fmt::format(" (reached {})", budgetText(*point.reached));
    return text;
}

TableRow rowOf(const std::string& label, const std::string& budget, std::span<const CurvePoint* const> points,
               const std::vector<ReportColumn>& columns) {
    TableRow row{{reportWords(label), reportWords(budget), reportNumber(static_cast<double>(points.size()))}};
    for (const ReportColumn& column : columns)
        row.cells.push_back(meanCell(column, points));
    return row;
}

/// Removes columns without a value, and the column n if it is 1 everywhere.
void dropEmptyColumns(FigureTable& table) {
    constexpr std::size_t countColumn = 2;
    for (std::size_t i = table.columns.size(); i-- > countColumn;) {
        const bool isUsed = std::ranges::any_of(table.rows, [i](const TableRow& row) {
            const double value = row.cells[i].value;
            return i == countColumn ? value > 1 : std::isfinite(value);
        });
        if (isUsed)
            continue;
        table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
        for (TableRow& row : table.rows)
            row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

std::string conditionsCaption(const Curves& curves) {
    const CurveConditions& own = curves.conditions;
    std::string text =
        fmt::format("Points of sweeps, {}; {}, {}", shownLine(conditionsText(own)), own.dtype, own.device);
    if (!own.scored.digest.empty())
        text += fmt::format(", {}, windows of {} tokens", name(own.scored.rules.protocol), own.scored.rules.window);
    if (own.protect != "none")
        text += ", protected: " + shownLine(own.protect);
    if (own.baseDigest != "dense")
        text += ", extending mask " + shortDigest(own.baseDigest);
    return text + ". Differences are from the dense model.";
}

ReportFigure curvesTable(const ModelCard& model, const Curves& curves) {
    const Price dense = PriceList(model, {.positions = curves.conditions.positions}).price(PruningMask(model.spec));
    const std::vector<ReportColumn> columns = columnsOf(curves, dense);
    FigureTable table;
    table.columns = {textColumn("Strategy"), textColumn("Budget"), {"n", 0}};
    for (const ReportColumn& column : columns)
        table.columns.push_back(column.column);
    const CurvePoint* densePoint = &curves.dense;
    table.rows.push_back(rowOf("dense", "", {&densePoint, 1}, columns));
    for (const Curve& curve : curves.curves)
        for (const std::vector<std::size_t>& line : curveLines(curve)) {
            bool isFirst = true;
            for (const std::vector<std::size_t>& repeated : repetitionsOf(curve, line)) {
                std::vector<const CurvePoint*> points;
                for (const std::size_t i : repeated)
                    points.push_back(&curve.points[i]);
                table.rows.push_back(
                    rowOf(curveLabel(curve, points.front()->key), budgetOf(*points.front()), points, columns));
                table.rows.back().startsGroup = std::exchange(isFirst, false);
                for (const CurvePoint* point : points)
                    if (!point->error.empty())
                        table.notes.push_back(fmt::format("{} {}: {}.", shownLine(curve.strategy),
                                                          budgetText(point->key.budget), shownLine(point->error)));
            }
        }
    dropEmptyColumns(table);
    if (std::ranges::find(table.columns, "n", &TableColumn::title) != table.columns.end())
        table.notes.insert(table.notes.begin(), "Values with n > 1 are means over repetitions.");
    return tableBlock(std::move(table), conditionsCaption(curves));
}

} // namespace

ReportSection curvesSection(const Session& session) {
    ReportSection section;
    ReportWarnings warnings;
    std::size_t unscored = 0;
    for (const Curves& curves : session.curves) {
        if (!curves.curves.empty() && curves.areScored())
            section.blocks.emplace_back(curvesTable(session.model, curves));
        else
            unscored += curves.curves.empty() ? 0 : 1;
        warnings.add(curves.warnings);
    }
    if (unscored > 0)
        section.blocks.emplace_back(ReportText{fmt::format("{} of masks that were chosen but not scored {} left out.",
                                                           counted(unscored, "set"), unscored == 1 ? "is" : "are")});
    warnings.appendTo(section);
    return section;
}

} // namespace secateur
