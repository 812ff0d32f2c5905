#include "widgets/plot/figure_size.h"

#include "widgets/plot/plot_curves.h"
#include "widgets/plot/plot_layer_marks.h"
#include "widgets/plot/plot_panels.h"
#include "widgets/plot/plot_table.h"

#include <QFontMetrics>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr double cmPerInch = 2.54;
constexpr double unitsPerCm = 96 / cmPerInch;
constexpr double lineCm = 0.34;   ///< of text
constexpr double letterCm = 0.15; ///< mean width
constexpr double narrowCm = 12;   ///< pictures in a column of a paper are narrower
constexpr double titleCm = 0.5;
constexpr double leastPartCm = 5; ///< width of a part of a grid with labels of its axes

double textCm(std::size_t letters) {
    return letterCm * static_cast<double>(letters);
}

/// Length in cm of the longest name along an axis of cells with texts.
double namesCm(const FigureAxis& axis, const Figure& figure) {
    std::size_t longest = 0;
    for (const std::string& name : axis.names)
        longest = std::max(longest, std::min<std::size_t>(name.size(), 28));
    return figure.cellTexts.empty() ? 0 : textCm(longest);
}

double panelsCm(const Figure& figure, double widthCm) {
    constexpr double aroundCells = 1.2; // title, ticks
    constexpr double label = 0.5;
    std::size_t layers = 1;
    std::size_t longest = 1; // name of a column, which may stand upright
    for (const FigurePanel& panel : figure.panels) {
        layers = std::max(layers, panel.cells.rows());
        for (const std::string& name : panel.columns)
            longest = std::max(longest, name.size());
    }
    const double upright = longest > 4 ? textCm(longest) : 0;
    const double cells = std::clamp(0.32 * static_cast<double>(layers), 1.6, 4.0);
    const int rows = panelGrid(figure.panels.size(), widthCm * unitsPerCm).rows;
    return rows * (cells + aroundCells + upright) + label;
}

/// Cells are square unless the page limits the height. Includes room for labels.
double heatMapCm(const Figure& figure, double widthCm) {
    const double besideCells = (figure.rowBars ? 4.4 : 2.9) + namesCm(figure.y, figure); // labels, bars, colour bar
    const double aboveAndBelow = 1.7 + namesCm(figure.x, figure);
    constexpr double tallestCell = 0.8;
    const double rows = std::max(1.0, static_cast<double>(figure.cells.rows()));
    const double columns = std::max(1.0, static_cast<double>(figure.cells.columns()));
    const double cell = std::clamp((widthCm - besideCells) / columns, 0.0, tallestCell);
    const double tallest = widthCm < narrowCm ? 10.0 : 13.0;
    return std::clamp(rows * cell, 2.2, tallest) + aboveAndBelow;
}

/// Number of rows of a legend. @param letters of each entry
int legendRows(const std::vector<std::size_t>& letters, double widthCm) {
    constexpr double icon = 1.0;
    int rows = letters.empty() ? 0 : 1;
    double used = 0;
    for (const std::size_t count : letters) {
        const double width = textCm(count) + icon;
        if (used > 0 && used + width > widthCm) {
            used = 0;
            ++rows;
        }
        used += width;
    }
    return rows;
}

std::vector<std::size_t> legendLetters(const Figure& figure) {
    std::vector<std::size_t> letters;
    if (figure.kind == FigureKind::bands)
        letters.assign(bandPercents.size() / 2 + 1, 8);
    else if (figure.kind != FigureKind::histogram)
        for (const FigureSeries& series : figure.series)
            if (!series.label.empty())
                letters.push_back(series.label.size() + (series.rightAxis ? 8 : 0));
    if (!estimatesIn(figure).empty())
        letters.insert(letters.end(), 2, 42);
    if (figure.mask)
        letters.insert(letters.end(), entriesOf(layerMarks(*figure.mask, nullptr, true)).size(), 24);
    return letters;
}

/// A figure with axes of values. Two rows of a legend are usual.
double axesCm(const Figure& figure, double widthCm) {
    constexpr int usualRows = 2;
    constexpr double atColumn = 6.0; // at 8.4 cm
    const double plain = widthCm < 8.4 ? std::max(4.5, atColumn - 0.4 * (8.4 - widthCm))
                                       : std::min(7.6, atColumn + 0.178 * (widthCm - 8.4));
    return plain + lineCm * std::max(0, legendRows(legendLetters(figure), widthCm) - usualRows);
}

double tableCm(const Figure& figure, double widthCm) {
    constexpr int dots = 300;
    const auto pixels = static_cast<int>(std::lround((widthCm - 2 * edgeUnits / unitsPerCm) / cmPerInch * dots));
    return layOutTable(figure.table, pixels, paperTheme(dots)).size.height() * cmPerInch / dots +
           2 * edgeUnits / unitsPerCm + 0.05;
}

double gridCm(const Figure& figure, double widthCm) {
    const auto columns = static_cast<std::size_t>(gridColumns(figure, widthCm));
    const double partCm = widthCm / static_cast<double>(columns) - 0.2;
    double height = 0;
    for (std::size_t first = 0; first < figure.parts.size(); first += columns) {
        double tallest = 0;
        for (std::size_t i = first; i < std::min(first + columns, figure.parts.size()); ++i)
            tallest = std::max(tallest, figureHeightCm(figure.parts[i], partCm));
        height += tallest + 0.1;
    }
    std::vector<std::size_t> letters;
    for (const std::string& name : commonLegend(figure))
        letters.push_back(name.size());
    return height + lineCm * legendRows(letters, widthCm);
}

double contentCm(const Figure& figure, double widthCm) {
    switch (figure.kind) {
    case FigureKind::heatMap:
        return heatMapCm(figure, widthCm);
    case FigureKind::panels:
        return panelsCm(figure, widthCm);
    case FigureKind::grid:
        return gridCm(figure, widthCm);
    case FigureKind::table:
        return tableCm(figure, widthCm);
    case FigureKind::series:
    case FigureKind::bands:
    case FigureKind::histogram:
    case FigureKind::scatter:
    case FigureKind::curves:
        return axesCm(figure, widthCm);
    }
    return 0;
}

/// How the lines of a series look: style, palette and whether its points are hollow.
using Look = std::tuple<SeriesStyle, std::size_t, bool>;

} // namespace

double figureHeightCm(const Figure& figure, double widthCm) {
    const double noteLines = std::ceil(textCm(figure.note.size()) / widthCm);
    // Titles of other kinds stand in the room for axes and legends.
    const bool hasOwnTitle =
        figure.kind == FigureKind::panels || figure.kind == FigureKind::grid || figure.kind == FigureKind::table;
    return contentCm(figure, widthCm) + lineCm * noteLines + (figure.title.empty() || !hasOwnTitle ? 0 : titleCm);
}

int neededHeight(const Figure& figure, int width, const PlotTheme& theme) {
    constexpr double compact = 0.75; // of a saved picture
    if (figure.kind == FigureKind::table) {
        const int lines = (figure.title.empty() ? 0 : 2) + (figure.note.empty() ? 0 : 3);
        return layOutTable(figure.table, width - 2 * theme.length(edgeUnits), theme).size.height() +
               2 * theme.length(edgeUnits) + lines * QFontMetrics(theme.font).height();
    }
    if (figure.kind != FigureKind::grid)
        return 0;
    const double scale = theme.unit * unitsPerCm;
    return static_cast<int>(compact * scale * figureHeightCm(figure, width / scale));
}

int gridColumns(const Figure& figure, double widthCm) {
    const int wanted = std::max(1, static_cast<int>(std::min(figure.gridColumns, figure.parts.size())));
    const int most = std::max(1, static_cast<int>(widthCm / leastPartCm));
    const int folds = (wanted + most - 1) / most;
    return (wanted + folds - 1) / folds;
}

bool hasCommonLegend(const Figure& figure) {
    std::map<std::string, Look> looks;
    std::map<Look, std::string> names;
    for (const Figure& part : figure.parts) {
        if (part.kind != FigureKind::curves)
            return false;
        const std::vector<std::size_t> colours = curveColours(part);
        for (std::size_t i = 0; i < part.series.size(); ++i) {
            const FigureSeries& series = part.series[i];
            const bool isColoured = series.style != SeriesStyle::level && series.style != SeriesStyle::points;
            const Look look{series.style, isColoured ? colours[i] : 0, series.isHollow};
            if (series.label.empty())
                continue;
            if (looks.try_emplace(series.label, look).first->second != look ||
                names.try_emplace(look, series.label).first->second != series.label)
                return false;
        }
    }
    return figure.parts.size() > 1 && !looks.empty();
}

std::vector<std::string> commonLegend(const Figure& figure) {
    std::vector<std::string> names;
    if (hasCommonLegend(figure))
        for (const Figure& part : figure.parts)
            for (const FigureSeries& series : part.series)
                if (!series.label.empty() && std::ranges::find(names, series.label) == names.end())
                    names.push_back(series.label);
    return names;
}

} // namespace secateur
