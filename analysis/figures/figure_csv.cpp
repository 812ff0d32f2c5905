#include "analysis/figures/figure.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace secateur {

namespace {

/// A CSV field, quoted by RFC 4180 if necessary.
std::string csvField(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string csvNumber(double value) {
    return std::isnan(value) ? std::string() : exactly(value);
}

std::string heatMapCsv(const Figure& figure) {
    const auto place = [](const FigureAxis& axis, std::size_t index) {
        return axis.names.empty() ? std::to_string(index) : fmt::format("{},{}", index, csvField(axis.names.at(index)));
    };
    const auto title = [](const FigureAxis& axis) {
        return axis.names.empty() ? csvField(axis.label)
                                  : fmt::format("{},{}", csvField(axis.label), csvField(axis.label + " name"));
    };
    const std::vector<std::string>& classes = figure.colour.names;
    const auto cell = [&](double value) {
        const auto index = static_cast<std::size_t>(std::max(value, 0.0));
        return index < classes.size() ? csvField(classes[index]) : exactly(value);
    };
    const bool hasTexts = !figure.cellTexts.empty();
    std::string csv = fmt::format("{},{},{}{}\r\n", title(figure.y), title(figure.x), csvField(figure.colour.label),
                                  hasTexts ? ",text" : "");
    const auto text = [&](std::size_t row, std::size_t column) {
        std::string shown = hasTexts ? figure.cellTexts.at(row * figure.cells.columns() + column) : std::string();
        std::ranges::replace(shown, '\n', ' ');
        return hasTexts ? "," + csvField(shown) : shown;
    };
    for (std::size_t row = 0; row < figure.cells.rows(); ++row)
        for (std::size_t column = 0; column < figure.cells.columns(); ++column)
            if (const double value = figure.cells(row, column); !std::isnan(value))
                csv += fmt::format("{},{},{}{}\r\n", place(figure.y, row), place(figure.x, column), cell(value),
                                   text(row, column));
    return csv;
}

/// A line of CSV. @param fields as csvField() returns them
std::string csvLine(const std::vector<std::string>& fields) {
    return fmt::format("{}\r\n", join(fields, ","));
}

std::string seriesCsv(const Figure& figure) {
    std::vector<std::string> header{csvField(figure.x.label)};
    std::vector<const std::vector<double>*> columns;
    std::size_t length = 0;
    for (const FigureSeries& series : figure.series) {
        header.push_back(csvField(series.label));
        columns.push_back(&series.values);
        if (!series.errors.empty()) {
            header.push_back(csvField(fmt::format("{} standard error", series.label)));
            columns.push_back(&series.errors);
        }
        length = std::max(length, series.values.size());
    }
    std::string csv = csvLine(header);
    for (std::size_t row = 0; row < length; ++row) {
        std::vector<std::string> fields{std::to_string(row)};
        for (const std::vector<double>* column : columns)
            fields.push_back(row < column->size() ? csvNumber((*column)[row]) : std::string());
        csv += csvLine(fields);
    }
    return csv;
}

std::string histogramCsv(const Figure& figure) {
    std::string csv =
        csvLine({csvField(figure.x.label + " from"), csvField(figure.x.label + " to"), csvField(figure.y.label)});
    for (std::size_t bin = 0; bin + 1 < figure.edges.size(); ++bin)
        csv += csvLine({csvNumber(figure.edges[bin]), csvNumber(figure.edges[bin + 1]),
                        csvNumber(figure.series.front().values[bin])});
    return csv;
}

/// CSV with a line for each unit. If the figure has a mask, the column "kept" is 1 or 0.
std::string unitsCsv(const Figure& figure) {
    const FigureSeries& points = figure.series.front();
    std::vector<std::string> header{"layer"};
    if (!figure.unit.empty())
        header.push_back(csvField(figure.unit));
    header.insert(header.end(), {csvField(figure.x.label), csvField(figure.y.label)});
    if (!points.cut.empty())
        header.emplace_back("kept");
    std::string csv = csvLine(header);
    for (std::size_t i = 0; i < points.units.size(); ++i) {
        std::vector<std::string> fields{std::to_string(points.units[i].layer)};
        if (!figure.unit.empty())
            fields.push_back(std::to_string(points.units[i].index));
        fields.insert(fields.end(), {csvNumber(points.positions[i]), csvNumber(points.values[i])});
        if (!points.cut.empty())
            fields.emplace_back(points.cut[i] ? "0" : "1");
        csv += csvLine(fields);
    }
    return csv;
}

std::string scatterCsv(const Figure& figure) {
    if (!figure.series.empty() && !figure.series.front().units.empty())
        return unitsCsv(figure);
    std::string csv = csvLine({"series", "name", csvField(figure.x.label), csvField(figure.y.label), "standard error"});
    for (const FigureSeries& series : figure.series)
        for (std::size_t i = 0; i < series.values.size(); ++i)
            csv += csvLine({csvField(series.label), i < series.names.size() ? csvField(series.names[i]) : std::string(),
                            csvNumber(series.positions[i]), csvNumber(series.values[i]),
                            i < series.errors.size() ? csvNumber(series.errors[i]) : std::string()});
    return csv;
}

std::string_view markName(PointMark mark) {
    return mark == PointMark::failed ? "failed" : mark == PointMark::hollow ? "clamped" : "";
}

std::string curvesCsv(const Figure& figure) {
    std::string csv = csvLine({"series", "point", csvField(figure.x.label), csvField(figure.y.label), "standard error",
                               "lowest", "highest", "mark"});
    const auto number = [](const std::vector<double>& values, std::size_t i) {
        return i < values.size() ? csvNumber(values[i]) : std::string();
    };
    for (const FigureSeries& series : figure.series)
        for (std::size_t i = 0; i < series.values.size(); ++i)
            csv += csvLine({csvField(series.label), i < series.names.size() ? csvField(series.names[i]) : std::string(),
                            number(series.positions, i), number(series.values, i), number(series.errors, i),
                            number(series.lows, i), number(series.highs, i),
                            i < series.marks.size() ? std::string(markName(series.marks[i])) : std::string()});
    return csv;
}

std::string panelsCsv(const Figure& figure) {
    std::string csv =
        csvLine({"panel", csvField(figure.y.label), csvField(figure.x.label), csvField(figure.colour.label)});
    for (const FigurePanel& panel : figure.panels)
        for (std::size_t row = 0; row < panel.cells.rows(); ++row)
            for (std::size_t column = 0; column < panel.cells.columns(); ++column)
                if (const double value = panel.cells(row, column); !std::isnan(value))
                    csv += csvLine({csvField(panel.title), std::to_string(row), csvField(panel.columns.at(column)),
                                    exactly(value)});
    return csv;
}

} // namespace

std::string toCsv(const Figure& figure) {
    switch (figure.kind) {
    case FigureKind::heatMap:
        return heatMapCsv(figure);
    case FigureKind::histogram:
        return histogramCsv(figure);
    case FigureKind::scatter:
        return scatterCsv(figure);
    case FigureKind::series:
    case FigureKind::bands:
        return seriesCsv(figure);
    case FigureKind::curves:
        return curvesCsv(figure);
    case FigureKind::panels:
        return panelsCsv(figure);
    }
    return {};
}

} // namespace secateur
