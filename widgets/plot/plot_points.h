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

/// Converts values of an axis to pixels; fast, for many points.
class AxisPixels {
public:
    explicit AxisPixels(const QCPAxis& axis);

    /// The pixel of a value; not finite for values that the axis cannot show.
    double operator()(double value) const;

private:
    double m_offset = 0;
    double m_slope = 1;
    bool m_logarithmic = false;
};

/// Diameter of points in pixels: the more points, the smaller.
double pointDiameter(std::size_t count, const QSize& room, const PlotTheme& theme);

// Pictures to draw many times, centred on points: a disc with a rim, and the cross of cut units.
QPixmap pointPicture(double diameter, const QPen& rim, const QBrush& inside, double pixelRatio);
QPixmap crossPicture(double diameter, QRgb colour, const PlotTheme& theme, double pixelRatio);

/// Adds the points of a scatter, in shuffled order so that no layer hides the others. In vector graphics they are drawn
/// as shapes; of very many points only the visible ones.
void addPlotPoints(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme);

/// The outline of a selection in progress: a lasso or a rectangle.
void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme);

} // namespace secateur
