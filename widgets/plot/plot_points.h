#pragma once

#include "widgets/plot/plot_theme.h"

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

/// From the values of an axis to its pixels, for very many of them.
class AxisPixels {
public:
    explicit AxisPixels(const QCPAxis& axis);

    /// Not finite where a value has no place.
    double operator()(double value) const;

private:
    double m_offset = 0;
    double m_slope = 1;
    bool m_logarithmic = false;
};

/// How wide points are drawn: narrower, the less room there is for each.
double pointDiameter(std::size_t count, const QSize& room, const PlotTheme& theme);

/// A disc with a rim, or the cross of what is cut, to be drawn many times with its middle on a point.
QPixmap pointPicture(double diameter, const QPen& rim, const QBrush& inside, double pixelRatio);
QPixmap crossPicture(double diameter, QRgb colour, const PlotTheme& theme, double pixelRatio);

/// Adds the points of a scatter, in an order in which none of them hide the others by where they come from. In vector
/// pictures they are shapes; of so many that they lie on one another, only those that are seen.
void addPlotPoints(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme);

/// The outline, while it is drawn, of a lasso or a rectangle that selects what lies in it.
void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme);

} // namespace secateur
