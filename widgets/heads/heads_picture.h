#pragma once

#include "analysis/base/head_id.h"
#include "analysis/base/matrix.h"
#include "analysis/model/model_spec.h"
#include "widgets/heads/heads_overlay.h"
#include "widgets/plot/plot_cells.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/plot/plot_axes.h"

#include <QPolygonF>
#include <QRect>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

class QWidget;

namespace secateur {

/// The part of the heads' picture under a point: a cell, or the header of a row or column.
struct HeadsPlace {
    enum class Kind { cell, layerHeader, headHeader };
    Kind kind = Kind::cell;
    HeadId head; ///< for a header, the first head of its row or column
};

/// Draws the grid of heads: cells, headers, the switches of each layer and a bar with its mean, the colour bar, the
/// hatching of cuts, and the outlines of selected and hovered cells. Also finds what is at a point. HeadsGrid handles
/// mouse and keyboard.
class HeadsPicture {
public:
    static constexpr double zoomPerNotch = 0.8; ///< factor of the zoom per step of the wheel or key press

    /// The picture fills its parent. Mouse and key events go to the parent.
    explicit HeadsPicture(QWidget* parent);
    ~HeadsPicture();

    void setTheme(const PlotTheme& theme);
    /// Sets the numbers of rows and columns, and resets the zoom.
    void setModel(const ModelSpec& spec);
    /// Sets numbers as values. @param values [layers, heads]; NaN = no value
    void setValues(const Matrix& values, const ColourScale& scale, const QString& label);
    /// Sets classes as values. @param values [layers, heads], indices in `names`; NaN = no value
    void setClasses(const Matrix& values, const QStringList& names, const QString& label);
    void setSelected(const std::set<HeadId>& heads);
    /// Sets the frame of the active cell. @param count number of cells in the frame, beginning with `head`: 1, or the
    /// size of its KV group
    void setActive(std::optional<HeadId> head, int count);
    void setHovered(std::optional<HeadId> head, int count);
    void setLasso(const QPolygonF& lasso);
    /// Sets the heads that pass the filter. @param passing [layers][heads] false = drawn paler; empty = all pass
    void setPassing(const std::vector<std::vector<bool>>& passing);
    void setCuts(const std::vector<LayerCuts>& layers);
    void setHoveredSwitch(std::optional<LayerSwitch> hovered);
    /// Draws a line across the colour bar at a value.
    void setThreshold(std::optional<double> value);

    std::optional<HeadsPlace> placeAt(QPointF point) const;
    /// The cell nearest to a point. The point may be on a header or outside of the grid.
    HeadId nearest(QPointF point) const;
    QRect cellRect(HeadId head) const;
    const LayerSwitches& switches() const;
    const PlotColourBar& colourBar() const;
    std::set<HeadId> headsIn(const QPolygonF& polygon) const;
    int layersOnScreen() const;

    void resize(const QSize& size);
    void zoom(double factor, QPointF about);
    void pan(QPointF pixels);
    /// Scrolls as little as necessary to show a head.
    void reveal(HeadId head);
    void resetZoom();
    /// Whether the whole grid is on screen.
    bool showsEverything() const;

private:
    struct Parts;
    void arrange();
    void showBeside();
    void setRanges(double firstColumn, double columns, double firstRow, double rows);
    QString fittingLabel() const;
    std::pair<double, double> mostVisible() const;
    void replot();
    void replotOutlines();

    std::unique_ptr<Parts> m_parts;
};

} // namespace secateur
