#pragma once

class QPainter;
class QPolygonF;

namespace secateur {

struct PlotTheme;

/// What is being drawn around things to select them: a lasso, or a rectangle.
void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme);

} // namespace secateur
