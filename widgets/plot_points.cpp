#include "widgets/plot_points.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <unordered_set>

namespace secateur {

namespace {

constexpr std::size_t mostSeparate = 20000; ///< more are dots without a rim
constexpr double rimShare = 0.4;            ///< of the text's colour: seen at both ends of a colour map

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
    double diameter() const { return pointDiameter(m_points.size(), m_theme); }
    QPen rim(const PlotPoint& point, double width) const {
        return point.hollow ? QPen(QColor(point.colour), 0.28 * width)
                            : m_theme.pen(mixed(QColor(point.colour), m_theme.text, rimShare), 0.6);
    }
    QBrush inside(const PlotPoint& point) const { return point.hollow ? m_theme.background : QColor(point.colour); }

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
            QPixmap& picture = pictures[{point.colour, point.hollow}];
            if (picture.isNull())
                picture = pointPicture(diameter(), rim(point, diameter()), inside(point), ratio);
            const double half = picture.deviceIndependentSize().width() / 2;
            painter.drawPixmap(at - QPointF(half, half), picture);
        });
    }

    /// Pixel by pixel: a painter would take several times as long.
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
            const QRect hole = point.hollow ? dot.adjusted(1, 1, -1, -1) : QRect();
            const QRect part = dot & frame;
            for (int row = part.top(); row <= part.bottom(); ++row) {
                auto* line = reinterpret_cast<QRgb*>(image.scanLine(row));
                for (int column = part.left(); column <= part.right(); ++column)
                    if (!hole.contains(column, row))
                        line[column] = point.colour | 0xff000000U;
            }
        });
        painter.drawImage(area.topLeft(), image);
    }

    /// Of the points that share a quarter of a point's width, the uppermost is enough.
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
            painter.setPen(isDense && !point->hollow ? QPen(Qt::NoPen) : rim(*point, width));
            painter.setBrush(inside(*point));
            const double radius = point->hollow ? 0.36 * width : width / 2; // the rim lies half outside
            painter.drawEllipse(at, radius, radius);
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

double pointDiameter(std::size_t count, const PlotTheme& theme) {
    constexpr double usual = 400;
    const double share = std::pow(usual / static_cast<double>(std::max<std::size_t>(count, 1)), 0.25);
    return std::clamp(6.5 * share, 1.8, 6.0) * theme.unit;
}

QPixmap pointPicture(double diameter, const QPen& rim, const QBrush& inside, double pixelRatio) {
    const double margin = rim.widthF() + 1;
    const int side = static_cast<int>(std::ceil((diameter + 2 * margin) * pixelRatio));
    QPixmap picture(side, side);
    picture.setDevicePixelRatio(pixelRatio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(rim);
    painter.setBrush(inside);
    const double middle = side / pixelRatio / 2;
    const double radius = (inside.style() == Qt::NoBrush ? diameter : diameter - rim.widthF()) / 2;
    painter.drawEllipse(QPointF(middle, middle), radius, radius);
    return picture;
}

void addPlotPoints(QCPAxis& x, QCPAxis& y, std::vector<PlotPoint> points, const PlotTheme& theme) {
    new PointsDrawing(x, y, std::move(points), theme); // belongs to the axis rect
}

} // namespace secateur
