#pragma once

#include "analysis/base/matrix.h"
#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"

#include <QPointF>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

class QCPAxis;
class QCustomPlot;

namespace secateur {

struct PlotPlace;

/// How panels are placed in rows.
struct PanelGrid {
    int rows = 1;
    int columns = 1;
};
/// The grid for a number of panels in a width. @param room width in units of 1/96 inch
PanelGrid panelGrid(std::size_t panels, double room);

/// Draws a figure of kind panels: heat maps in a grid, with one colour bar.
void paintPanels(const PlotPlace& place, const Figure& figure);

/// Writes a text in each cell of a heat map in which it fits. The second line is left out where only one fits.
/// @param texts row by row, as many as cells
void addCellTexts(QCPAxis& columns, QCPAxis& rows, const Matrix& cells, const std::vector<std::string>& texts,
                  const ColourRange& range, const PlotTheme& theme);

/// Draws a frame around cells of a heat map.
void outlineCells(QCPAxis& columns, QCPAxis& rows, const std::vector<FigureCell>& cells, const PlotTheme& theme);

/// A cell of a figure of kind panels or heatMap.
struct PanelCell {
    std::size_t panel = 0; ///< index in Figure::panels; 0 in a heat map
    std::size_t row = 0;
    std::size_t column = 0;
    bool operator==(const PanelCell&) const = default;
};
/// The cell at a pixel. @param plot in which paintFigure() has drawn the figure
std::optional<PanelCell> cellAt(const QCustomPlot& plot, const Figure& figure, QPointF pixel);

} // namespace secateur
