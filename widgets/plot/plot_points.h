#pragma once

#include "widgets/plot/plot_axes.h"

#include <QColor>
#include <QPixmap>
#include <QPointF>

#include <vector>

class QCPAxis;
class QPainter;
class QPolygonF;

namespace secateur {

struct PlotPoint {
    double x = 0;
    double y = 0;
    QRgb colour = 0;
    bool isCut = false;
};

/// Converts values on an axis to pixels. Faster than QCPAxis::coordToPixel() for many points.
class AxisPixels {
public:
    explicit AxisPixels(const QCPAxis& axis);

    /// The pixel coordinate of a value. It is not finite for values that the axis cannot show.
    double operator()(double value) const;

private:
    double m_offset = 0;
    double m_slope = 1;
    bool m_logarithmic = false;
};

/// Diameter of points in pixels. It decreases with the number of points.
double pointDiameter(std::size_t count, const QSize& room, const PlotTheme& theme);

// Pictures that are drawn many times, centred on points: a disc with an outline, and the cross of a cut unit.
QPixmap pointPicture(double diameter, const QPen& rim, const QBrush& inside, double pixelRatio);
QPixmap crossPicture(double diameter, QRgb colour, const PlotTheme& theme, double pixelRatio);

/// Adds the points of a scatter. They are drawn in random order, so that no layer hides the others. In vector graphics
/// they are drawn as shapes. If there are very many, points hidden by others are left out.
void addPlotPoints(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme);

/// Draws the outline of a selection while the user drags: a lasso or a rectangle.
void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme);

} // namespace secateur
