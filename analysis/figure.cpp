#include "analysis/figure.h"

#include "analysis/text.h"
#include "analysis/usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

/// RFC 4180: quoted when it must be.
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
    std::string csv =
        fmt::format("{},{},{}\r\n", csvField(figure.y.label), csvField(figure.x.label), csvField(figure.colour.label));
    for (std::size_t row = 0; row < figure.cells.rows(); ++row)
        for (std::size_t column = 0; column < figure.cells.columns(); ++column)
            if (const double value = figure.cells(row, column); !std::isnan(value))
                csv += fmt::format("{},{},{}\r\n", row, column, exactly(value));
    return csv;
}

std::string seriesCsv(const Figure& figure) {
    std::string csv = csvField(figure.x.label);
    std::size_t length = 0;
    for (const FigureSeries& series : figure.series) {
        csv += "," + csvField(series.label);
        if (!series.errors.empty())
            csv += "," + csvField(series.label + " standard error");
        length = std::max(length, series.values.size());
    }
    csv += "\r\n";
    const auto at = [](const std::vector<double>& values, std::size_t i) {
        return i < values.size() ? csvNumber(values[i]) : std::string();
    };
    for (std::size_t i = 0; i < length; ++i) {
        csv += std::to_string(i);
        for (const FigureSeries& series : figure.series) {
            csv += "," + at(series.values, i);
            if (!series.errors.empty())
                csv += "," + at(series.errors, i);
        }
        csv += "\r\n";
    }
    return csv;
}

} // namespace

Figure makeFigure(const Session& session, std::string_view request) {
    ParsedRequest parsed = parseRequest(request);
    const auto figures = allFigures();
    const auto info =
        std::find_if(figures.begin(), figures.end(), [&](const FigureInfo& f) { return f.id == parsed.id; });
    if (info == figures.end()) {
        std::vector<std::string> known;
        for (const FigureInfo& figure : figures)
            known.emplace_back(figure.id);
        throw UsageError(fmt::format("unknown figure; the known ones are {}", join(known, ", ")), parsed.id);
    }
    validateOptions(parsed, info->options);
    std::map<std::string, std::string> complete;
    for (const OptionInfo& option : info->options)
        complete[std::string(option.name)] = optionValue(parsed.options, info->options, option.name);
    Figure figure = info->make(session, complete);
    figure.command = fmt::format("secateur-cli plot {} --figure {}", session.model.path, request);
    return figure;
}

std::string toCsv(const Figure& figure) {
    return figure.kind == FigureKind::heatMap ? heatMapCsv(figure) : seriesCsv(figure);
}

} // namespace secateur
