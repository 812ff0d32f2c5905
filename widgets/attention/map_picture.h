#pragma once

#include "analysis/running/attention_reader.h"
#include "widgets/plot/plot_scale.h"

#include <QImage>
#include <QPointF>
#include <QSize>

#include <vector>

namespace secateur {

/// The part of an attention map that is on screen.
struct MapView {
    QPointF first;            ///< key and query at the top left, in cells of the map
    double cellsPerPixel = 1; ///< of the screen's own pixels
};

/// Whether a window has all queries and keys of another one.
bool covers(const MapWindow& outer, const MapWindow& inner);

/// The cells in view, at the resolution that the pixels can show. Begins and ends at whole cells.
/// @param pixels size of the view in the screen's own pixels @param side queries and keys of the map
/// @param margin share of the view's width and height to add on each side
MapWindow windowOf(const MapView& view, const QSize& pixels, int side, double margin = 0);

/// Paints cells over a picture. Pixels outside the window stay as they are.
/// @param values [window.rows(), window.columns()]; 0 is painted in the colour `absent`
void paintCells(QImage& picture, const MapView& view, const std::vector<float>& values, const MapWindow& window,
                const ColourRange& range, QRgb absent);

} // namespace secateur
