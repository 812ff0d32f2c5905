#include "widgets/plot/plot_points.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <unordered_set>

namespace secateur {

namespace {

constexpr std::size_t mostSeparate = 20000; ///< maximum number of points with an outline; more points are drawn as dots
constexpr double rimShare = 0.4;            ///< share of the text colour in outlines

bool isOnCross(int column, int row, int side) {
    return column == row || column == side - 1 - row;
}

/// Draws a cross with a wider outline, whose colour is visible at both ends of a colour map.
void drawCross(QPainter& painter, QPointF middle, double width, QRgb colour, const PlotTheme& theme) {
    const double reach = 0.4 * width;
    for (const auto& [line, with] : {std::pair(0.42 * width, mixed(QColor(colour), theme.text, rimShare)),
                                     std::pair(0.26 * width, QColor(colour))}) {
        painter.setPen(QPen(with, line, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(middle - QPointF(reach, reach), middle + QPointF(reach, reach));
        painter.drawLine(middle - QPointF(reach, -reach), middle + QPointF(reach, -reach));
    }
}

/// A transparent square picture. @param width side in device-independent pixels
QPixmap emptyPicture(double width, double pixelRatio) {
    const int side = static_cast<int>(std::ceil(width * pixelRatio));
    QPixmap picture(side, side);
    picture.setDevicePixelRatio(pixelRatio);
    picture.fill(Qt::transparent);
    return picture;
}

class PointsDrawing : public QCPLayerable {
public:
    PointsDrawing(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme)
        : QCPLayerable(x.parentPlot(), "main", x.axisRect())
        , m_x(x)
        , m_y(y)
        , m_points(std::move(points))
        , m_theme(theme) {
        setParent(x.axisRect());
        std::ranges::shuffle(m_points, std::mt19937(1));
    }

protected:
    QRect clipRect() const override { return m_x.axisRect()->rect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }
    void draw(QCPPainter* painter) override {
        const bool isDense = m_points.size() > mostSeparate;
        if (painter->modes().testFlag(QCPPainter::pmVectorized))
            drawShapes(*painter, isDense);
        else if (isDense)
            drawDots(*painter);
        else
            drawPictures(*painter);
    }

private:
    double diameter() const { return pointDiameter(m_points.size(), clipRect().size(), m_theme); }
    QPen rim(const PlotPoint& point) const {
        return m_theme.pen(mixed(QColor(point.colour), m_theme.text, rimShare), 0.6);
    }

    template <typename Draw>
    void eachOnScreen(Draw draw) const {
        const AxisPixels x(m_x);
        const AxisPixels y(m_y);
        const double beyond = diameter();
        const QRectF seen = QRectF(clipRect()).adjusted(-beyond, -beyond, beyond, beyond);
        for (const PlotPoint& point : m_points)
            if (const QPointF at(x(point.x), y(point.y)); seen.contains(at))
                draw(point, at);
    }

    void drawPictures(QCPPainter& painter) const {
        const double ratio = painter.device()->devicePixelRatioF();
        std::map<std::pair<QRgb, bool>, QPixmap> pictures;
        eachOnScreen([&](const PlotPoint& point, QPointF at) {
            QPixmap& picture = pictures[{point.colour, point.isCut}];
            if (picture.isNull())
                picture = point.isCut ? crossPicture(diameter(), point.colour, m_theme, ratio)
                                      : pointPicture(diameter(), rim(point), QColor(point.colour), ratio);
            const double half = picture.deviceIndependentSize().width() / 2;
            painter.drawPixmap(at - QPointF(half, half), picture);
        });
    }

    /// Draws points as dots by setting pixels directly, which is several times as fast as QPainter.
    void drawDots(QCPPainter& painter) const {
        const double ratio = painter.device()->devicePixelRatioF();
        const QRect area = clipRect();
        QImage image((QSizeF(area.size()) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
        image.setDevicePixelRatio(ratio);
        image.fill(Qt::transparent);
        const int side = std::max(2, static_cast<int>(std::lround(diameter() * ratio)));
        const QRect frame = image.rect();
        eachOnScreen([&](const PlotPoint& point, QPointF at) {
            const QPointF corner = (at - area.topLeft()) * ratio - QPointF(side, side) / 2;
            const QRect dot = QRect(corner.toPoint(), QSize(side, side));
            const QRect part = dot & frame;
            for (int row = part.top(); row <= part.bottom(); ++row) {
                auto* line = reinterpret_cast<QRgb*>(image.scanLine(row));
                for (int column = part.left(); column <= part.right(); ++column)
                    if (!point.isCut || isOnCross(column - dot.left(), row - dot.top(), side))
                        line[column] = point.colour | 0xff000000U;
            }
        });
        painter.drawImage(area.topLeft(), image);
    }

    /// Draws points as shapes. If they are dense, draws only one point per square with a side of a quarter of a point's
    /// width.
    void drawShapes(QCPPainter& painter, bool isDense) const {
        const double width = diameter();
        std::vector<std::pair<const PlotPoint*, QPointF>> shown;
        eachOnScreen([&](const PlotPoint& point, QPointF at) { shown.emplace_back(&point, at); });
        if (isDense) {
            std::unordered_set<std::uint64_t> taken;
            std::erase_if(shown, [&](const auto& each) {
                const auto cell = [&](double pixel) { return static_cast<std::uint32_t>(4 * pixel / width); };
                return !taken.insert(std::uint64_t(cell(each.second.x())) << 32 | cell(each.second.y())).second;
            });
        }
        for (const auto& [point, at] : shown) {
            if (point->isCut) {
                drawCross(painter, at, width, point->colour, m_theme);
                continue;
            }
            painter.setPen(isDense ? QPen(Qt::NoPen) : rim(*point));
            painter.setBrush(QColor(point->colour));
            painter.drawEllipse(at, width / 2, width / 2);
        }
    }

    QCPAxis& m_x;
    QCPAxis& m_y;
    std::vector<PlotPoint> m_points;
    PlotTheme m_theme;
};

} // namespace

AxisPixels::AxisPixels(const QCPAxis& axis)
    : m_logarithmic(axis.scaleType() == QCPAxis::stLogarithmic) {
    const auto place = [this](double value) { return m_logarithmic ? std::log(value) : value; };
    const double from = axis.coordToPixel(axis.range().lower);
    const double to = axis.coordToPixel(axis.range().upper);
    m_slope = (to - from) / (place(axis.range().upper) - place(axis.range().lower));
    m_offset = from - m_slope * place(axis.range().lower);
}

double AxisPixels::operator()(double value) const {
    return m_offset + m_slope * (m_logarithmic ? std::log(value) : value);
}

double pointDiameter(std::size_t count, const QSize& room, const PlotTheme& theme) {
    constexpr double share = 0.45; // diameter relative to the distance of points that are spread evenly
    const double area = static_cast<double>(room.width()) * room.height() / (theme.unit * theme.unit);
    const double apart = std::sqrt(area / static_cast<double>(std::max<std::size_t>(count, 1)));
    return std::clamp(share * apart, 1.8, 7.5) * theme.unit;
}

QPixmap pointPicture(double diameter, const QPen& rim, const QBrush& inside, double pixelRatio) {
    QPixmap picture = emptyPicture(diameter + 2, pixelRatio);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(rim);
    painter.setBrush(inside);
    const double middle = picture.deviceIndependentSize().width() / 2;
    const double radius = (diameter - (rim.style() == Qt::NoPen ? 0 : rim.widthF())) / 2;
    painter.drawEllipse(QPointF(middle, middle), radius, radius);
    return picture;
}

QPixmap crossPicture(double diameter, QRgb colour, const PlotTheme& theme, double pixelRatio) {
    QPixmap picture = emptyPicture(1.5 * diameter + 2, pixelRatio);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    const double middle = picture.deviceIndependentSize().width() / 2;
    drawCross(painter, {middle, middle}, diameter, colour, theme);
    return picture;
}

void addPlotPoints(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme) {
    new PointsDrawing(x, y, std::move(points), theme); // the axis rect owns it
}

void drawLasso(QPainter& painter, const QPolygonF& outline, const PlotTheme& theme) {
    painter.setRenderHint(QPainter::Antialiasing);
    QColor inside = theme.accent;
    inside.setAlphaF(0.15F);
    painter.setBrush(inside);
    painter.setPen(theme.pen(theme.accent, 1.5));
    painter.drawPolygon(outline);
}

} // namespace secateur
