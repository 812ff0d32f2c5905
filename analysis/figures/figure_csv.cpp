#include "analysis/base/csv_field.h"
#include "analysis/base/text.h"
#include "analysis/figures/figure.h"
#include "analysis/figures/table_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

using CsvLine = std::vector<std::string>;

/// A header and lines with as many fields, not yet quoted.
struct CsvTable {
    CsvLine header;
    std::vector<CsvLine> lines;
};

std::string csvText(const CsvTable& table) {
    std::string csv;
    const auto add = [&](const CsvLine& line) {
        CsvLine fields;
        std::ranges::transform(line, std::back_inserter(fields), csvField);
        csv += join(fields, ",") + "\r\n";
    };
    add(table.header);
    std::ranges::for_each(table.lines, add);
    return csv;
}

std::string csvNumber(double value) {
    return std::isnan(value) ? std::string() : exactly(value);
}

/// A number of a list that may be shorter than others, or empty.
std::string csvNumber(const std::vector<double>& values, std::size_t i) {
    return i < values.size() ? csvNumber(values[i]) : std::string();
}

std::string csvName(const FigureSeries& series, std::size_t i) {
    return i < series.names.size() ? series.names[i] : std::string();
}

/// The class of a cell, or its value.
std::string csvCell(const Figure& figure, double value) {
    const std::vector<std::string>& classes = figure.colour.names;
    const auto index = static_cast<std::size_t>(std::max(value, 0.0));
    return index < classes.size() ? classes[index] : exactly(value);
}

bool isOutlined(const Figure& figure, std::size_t row, std::size_t column) {
    return std::ranges::any_of(figure.outlined,
                               [&](const FigureCell& cell) { return cell.row == row && cell.column == column; });
}

CsvTable heatMapTable(const Figure& figure) {
    CsvTable table;
    for (const FigureAxis* axis : {&figure.y, &figure.x}) {
        table.header.push_back(axis->label);
        if (!axis->names.empty())
            table.header.push_back(axis->label + " name");
    }
    table.header.push_back(figure.colour.label);
    if (!figure.cellTexts.empty())
        table.header.emplace_back("text");
    if (!figure.outlined.empty())
        table.header.emplace_back("outlined");
    const auto addPlace = [](CsvLine& line, const FigureAxis& axis, std::size_t index) {
        line.push_back(std::to_string(index));
        if (!axis.names.empty())
            line.push_back(axis.names.at(index));
    };
    for (std::size_t row = 0; row < figure.cells.rows(); ++row)
        for (std::size_t column = 0; column < figure.cells.columns(); ++column) {
            const double value = figure.cells(row, column);
            if (std::isnan(value))
                continue;
            CsvLine& line = table.lines.emplace_back();
            addPlace(line, figure.y, row);
            addPlace(line, figure.x, column);
            line.push_back(csvCell(figure, value));
            if (!figure.cellTexts.empty()) {
                line.push_back(figure.cellTexts.at(row * figure.cells.columns() + column));
                std::ranges::replace(line.back(), '\n', ' ');
            }
            if (!figure.outlined.empty())
                line.emplace_back(isOutlined(figure, row, column) ? "1" : "0");
        }
    return table;
}

CsvTable seriesTable(const Figure& figure) {
    CsvTable table{{figure.x.label}, {}};
    std::vector<const std::vector<double>*> columns;
    std::size_t length = 0;
    for (const FigureSeries& series : figure.series) {
        table.header.push_back(series.label);
        columns.push_back(&series.values);
        if (!series.errors.empty()) {
            table.header.push_back(series.label + " standard error");
            columns.push_back(&series.errors);
        }
        length = std::max(length, series.values.size());
    }
    for (std::size_t row = 0; row < length; ++row) {
        CsvLine& line = table.lines.emplace_back(CsvLine{std::to_string(row)});
        for (const std::vector<double>* column : columns)
            line.push_back(csvNumber(*column, row));
    }
    return table;
}

CsvTable histogramTable(const Figure& figure) {
    CsvTable table{{figure.x.label + " from", figure.x.label + " to", figure.y.label}, {}};
    for (std::size_t bin = 0; bin + 1 < figure.edges.size(); ++bin)
        table.lines.push_back({csvNumber(figure.edges[bin]), csvNumber(figure.edges[bin + 1]),
                               csvNumber(figure.series.front().values[bin])});
    return table;
}

/// A line for each unit. If the figure has a mask, the column "kept" is 1 or 0.
CsvTable unitsTable(const Figure& figure) {
    const FigureSeries& points = figure.series.front();
    CsvTable table{{"layer"}, {}};
    if (!figure.unit.empty())
        table.header.push_back(figure.unit);
    table.header.insert(table.header.end(), {figure.x.label, figure.y.label});
    if (!points.cut.empty())
        table.header.emplace_back("kept");
    for (std::size_t i = 0; i < points.units.size(); ++i) {
        CsvLine& line = table.lines.emplace_back(CsvLine{std::to_string(points.units[i].layer)});
        if (!figure.unit.empty())
            line.push_back(std::to_string(points.units[i].index));
        line.insert(line.end(), {csvNumber(points.positions[i]), csvNumber(points.values[i])});
        if (!points.cut.empty())
            line.emplace_back(points.cut[i] ? "0" : "1");
    }
    return table;
}

CsvTable scatterTable(const Figure& figure) {
    if (!figure.series.empty() && !figure.series.front().units.empty())
        return unitsTable(figure);
    CsvTable table{{"series", "name", figure.x.label, figure.y.label, "standard error"}, {}};
    for (const FigureSeries& series : figure.series)
        for (std::size_t i = 0; i < series.values.size(); ++i)
            table.lines.push_back({series.label, csvName(series, i), csvNumber(series.positions, i),
                                   csvNumber(series.values[i]), csvNumber(series.errors, i)});
    return table;
}

std::string_view markName(PointMark mark) {
    return mark == PointMark::failed ? "failed" : mark == PointMark::hollow ? "clamped" : "";
}

/// The whiskers, quartiles and outliers of a box; outliers are separated by spaces.
CsvLine boxFields(const FigureSeries& series, std::size_t i) {
    if (i >= series.boxes.size())
        return CsvLine(5);
    const FigureBox& box = series.boxes[i];
    CsvLine outliers;
    std::ranges::transform(box.outliers, std::back_inserter(outliers), exactly);
    return {csvNumber(box.lower), csvNumber(box.q1), csvNumber(box.q3), csvNumber(box.upper), join(outliers, " ")};
}

CsvTable curvesTable(const Figure& figure) {
    CsvTable table{{"series", "point", figure.x.label, figure.y.label, "standard error", "lowest", "highest", "mark"},
                   {}};
    const bool hasBoxes = std::ranges::any_of(figure.series, [](const auto& series) { return !series.boxes.empty(); });
    if (hasBoxes)
        table.header.insert(table.header.end(),
                            {"lower whisker", "first quartile", "third quartile", "upper whisker", "outliers"});
    for (const FigureSeries& series : figure.series)
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            CsvLine& line = table.lines.emplace_back(
                CsvLine{series.label, csvName(series, i), csvNumber(series.positions, i), csvNumber(series.values[i]),
                        csvNumber(series.errors, i), csvNumber(series.lows, i), csvNumber(series.highs, i),
                        i < series.marks.size() ? std::string(markName(series.marks[i])) : std::string()});
            if (hasBoxes)
                std::ranges::copy(boxFields(series, i), std::back_inserter(line));
        }
    return table;
}

CsvTable panelsTable(const Figure& figure) {
    CsvTable table{{"panel", figure.y.label, figure.x.label, figure.colour.label}, {}};
    for (const FigurePanel& panel : figure.panels)
        for (std::size_t row = 0; row < panel.cells.rows(); ++row)
            for (std::size_t column = 0; column < panel.cells.columns(); ++column)
                if (const double value = panel.cells(row, column); !std::isnan(value))
                    table.lines.push_back({panel.title, std::to_string(row), panel.columns.at(column), exactly(value)});
    return table;
}

/// Columns with an error are followed by one for the errors. Published values that contradict others are named in the
/// last column, if there are any.
CsvTable tableTable(const Figure& figure) {
    const FigureTable& shown = figure.table;
    const auto anyCell = [&](std::size_t column, auto isMeant) {
        return std::ranges::any_of(shown.rows, [&](const TableRow& row) { return isMeant(row.cells.at(column)); });
    };
    const auto hasErrors = [](const TableCell& cell) { return cell.error > 0; };
    CsvTable table;
    CsvLine titles;
    bool isAnyDoubtful = false;
    for (std::size_t column = 0; column < shown.columns.size(); ++column) {
        titles.push_back(fullTitle(shown.columns[column]));
        table.header.push_back(titles.back());
        if (anyCell(column, hasErrors))
            table.header.push_back(titles.back() + " standard error");
        isAnyDoubtful |= anyCell(column, [](const TableCell& cell) { return cell.isDoubtful; });
    }
    table.header.emplace_back("published");
    if (isAnyDoubtful)
        table.header.emplace_back("doubtful");
    for (const TableRow& row : shown.rows) {
        CsvLine& line = table.lines.emplace_back();
        CsvLine doubtful;
        for (std::size_t column = 0; column < shown.columns.size(); ++column) {
            const TableCell& cell = row.cells.at(column);
            line.push_back(std::isnan(cell.value) ? cell.text : exactly(cell.value));
            if (anyCell(column, hasErrors))
                line.push_back(cell.error > 0 ? exactly(cell.error) : std::string());
            if (cell.isDoubtful)
                doubtful.push_back(titles[column]);
        }
        line.emplace_back(row.isPublished ? "1" : "0");
        if (isAnyDoubtful)
            line.push_back(join(doubtful, "; "));
    }
    return table;
}

CsvTable csvTable(const Figure& figure);

/// Names of the parts of a grid: their titles, with a number where they are empty or equal.
CsvLine partNames(const std::vector<Figure>& parts) {
    CsvLine names;
    for (const Figure& part : parts) {
        std::string name = part.title.empty() ? fmt::format("{}", names.size() + 1) : part.title;
        if (std::ranges::find(names, name) != names.end())
            name += fmt::format(" ({})", names.size() + 1);
        names.push_back(std::move(name));
    }
    return names;
}

/// A column for each title of the parts. Of equal titles within a part, each has its own column.
CsvTable gridTable(const Figure& figure) {
    CsvTable table{{"part"}, {}};
    using Place = std::pair<std::string, std::size_t>; // title, and number of equal titles to the left
    std::map<Place, std::size_t> columns;
    const CsvLine names = partNames(figure.parts);
    for (std::size_t part = 0; part < figure.parts.size(); ++part) {
        const CsvTable own = csvTable(figure.parts[part]);
        std::vector<std::size_t> places;
        std::map<std::string, std::size_t> seen;
        for (const std::string& title : own.header) {
            const auto [found, isNew] = columns.try_emplace(Place{title, seen[title]++}, table.header.size());
            if (isNew)
                table.header.push_back(title);
            places.push_back(found->second);
        }
        for (const CsvLine& line : own.lines) {
            CsvLine& joined = table.lines.emplace_back(table.header.size());
            joined.front() = names[part];
            for (std::size_t i = 0; i < line.size(); ++i)
                joined[places[i]] = line[i];
        }
    }
    for (CsvLine& line : table.lines)
        line.resize(table.header.size());
    return table;
}

CsvTable csvTable(const Figure& figure) {
    switch (figure.kind) {
    case FigureKind::heatMap:
        return heatMapTable(figure);
    case FigureKind::histogram:
        return histogramTable(figure);
    case FigureKind::scatter:
        return scatterTable(figure);
    case FigureKind::series:
    case FigureKind::bands:
        return seriesTable(figure);
    case FigureKind::curves:
        return curvesTable(figure);
    case FigureKind::panels:
        return panelsTable(figure);
    case FigureKind::grid:
        return gridTable(figure);
    case FigureKind::table:
        return tableTable(figure);
    }
    return {};
}

} // namespace

std::string toCsv(const Figure& figure) {
    return csvText(csvTable(figure));
}

} // namespace secateur
