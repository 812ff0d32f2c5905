#include "widgets/heads/heads_cuts.h"

#include "widgets/document/mask_editor.h"
#include "widgets/plot/plot_cells.h"

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

constexpr double smallestForGlyph = 9; ///< units
constexpr double smallestForPair = 7;
constexpr double smallestText = 9;

/// One hatch: a dark and a light line in each period, all in units along an edge.
struct Lines {
    double period;
    double dark;
    double light;
    double opacity;
};

Lines linesFor(Hatch hatch, double cell) {
    Lines lines = cell < 8 ? Lines{4, 1.2, 1.0, 0.9} : cell < 18 ? Lines{7, 1.7, 1.5, 0.95} : Lines{10, 2.2, 1.8, 0.95};
    if (hatch == Hatch::both)
        lines.period *= 1.4;
    if (hatch == Hatch::preview)
        return {lines.period, 0.75 * lines.dark, 0.75 * lines.light, 0.55};
    return lines;
}

/// Share of a pixel's area with x + y below `to`, the pixel's middle at 0.
double shareBelow(double to) {
    const double t = std::clamp(to, -1.0, 1.0);
    return t < 0 ? (t + 1) * (t + 1) / 2 : 1 - (1 - t) * (1 - t) / 2;
}

/// Share of a pixel covered by diagonal bands that begin at `from` and come back with each period.
double bandShare(double middle, double from, double width, double period) {
    double share = 0;
    for (int turn = -2; turn <= 2; ++turn) {
        const double start = from + turn * period - middle;
        share += shareBelow(start + width) - shareBelow(start);
    }
    return share;
}

QImage hatchTile(Hatch hatch, const Lines& lines, double pixelRatio) {
    const int side = std::max(3, static_cast<int>(std::lround(lines.period * pixelRatio)));
    const double scale = side / lines.period;
    QImage tile(side, side, QImage::Format_ARGB32_Premultiplied);
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            double dark = 0;
            double light = 0;
            const auto add = [&](int diagonal) {
                const double middle = (diagonal % side + side) % side + 1;
                dark = std::max(dark, bandShare(middle, 0, lines.dark * scale, side));
                light = std::max(light, bandShare(middle, lines.dark * scale, lines.light * scale, side));
            };
            if (hatch != Hatch::onlyThere)
                add(x + y);
            if (hatch == Hatch::onlyThere || hatch == Hatch::both)
                add(x - y);
            light = std::min(light, 1 - dark);
            const auto alpha = static_cast<int>(std::lround(255 * lines.opacity * (dark + light)));
            const auto grey = static_cast<int>(std::lround(255 * lines.opacity * light));
            tile.setPixel(x, y, qRgba(grey, grey, grey, alpha));
        }
    return tile;
}

Hatch hatchOf(const MaskEditor& masks, HeadId head) {
    const bool here = masks.isCut(head);
    if (masks.preview()) {
        const bool then = isHeadCut(*masks.preview(), head);
        return !then ? Hatch::none : here ? Hatch::cut : Hatch::preview;
    }
    const bool there = masks.compared() && isHeadCut(*masks.compared(), head);
    return here && there ? Hatch::both : here ? Hatch::cut : there ? Hatch::onlyThere : Hatch::none;
}

} // namespace

std::vector<LayerCuts> cutsOf(const MaskEditor& masks) {
    std::vector<LayerCuts> layers;
    for (int index = 0; index < masks.mask().layerCount(); ++index) {
        const LayerMask& mask = masks.mask().layer(index);
        LayerCuts cuts{{},       {},         mask.attention,        mask.alpha,
                       mask.mlp, mask.block, !mask.neurons.empty(), masks.isProtected().layers.contains(index)};
        for (int head = 0; head < static_cast<int>(mask.heads.size()); ++head) {
            cuts.cells.push_back(hatchOf(masks, {index, head}));
            cuts.locked.push_back(masks.isProtected().heads.contains({index, head}));
        }
        layers.push_back(std::move(cuts));
    }
    return layers;
}

QBrush hatchBrush(Hatch hatch, double cell, const PlotTheme& theme, double pixelRatio) {
    const double pixels = pixelRatio * theme.unit;
    QBrush brush(hatchTile(hatch, linesFor(hatch, cell), pixels));
    brush.setTransform(QTransform::fromScale(1 / pixelRatio, 1 / pixelRatio));
    return brush;
}

void drawLock(QPainter& painter, const QRectF& box, const PlotTheme& theme) {
    const double side = std::min(box.width(), box.height());
    if (side < smallestForGlyph * theme.unit / 2) {
        const double dot = std::min(side, 3 * theme.unit);
        const QRectF middle(box.center() - QPointF(dot, dot) / 2, QSizeF(dot, dot));
        painter.fillRect(middle.adjusted(-theme.unit / 2, -theme.unit / 2, theme.unit / 2, theme.unit / 2),
                         theme.background);
        painter.fillRect(middle, theme.text);
        return;
    }
    const QPointF corner = box.center() - QPointF(side, side) / 2;
    const QRectF body(corner + QPointF(0.14, 0.45) * side, QSizeF(0.72, 0.5) * side);
    QPainterPath shackle;
    const QRectF arc(corner + QPointF(0.28, 0.08) * side, QSizeF(0.44, 0.6) * side);
    shackle.moveTo(arc.left(), body.top() + 0.1 * side);
    shackle.lineTo(arc.left(), arc.center().y());
    shackle.arcTo(arc, 180, -180);
    shackle.lineTo(arc.right(), body.top() + 0.1 * side);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const double halo = 1.5 * theme.unit;
    painter.strokePath(shackle, QPen(theme.background, 0.14 * side + 2 * halo));
    painter.fillRect(body.adjusted(-halo, -halo, halo, halo), theme.background);
    painter.strokePath(shackle, QPen(theme.text, 0.14 * side));
    painter.fillRect(body, theme.text);
    painter.restore();
}

class HeadsCuts::Drawing : public QCPLayerable {
public:
    Drawing(QCPAxis* columns, QCPAxis* rows)
        : QCPLayerable(columns->parentPlot(), "overlay", columns->axisRect())
        , m_columns(columns)
        , m_rows(rows) {
        setParent(columns->axisRect());
    }

    PlotTheme theme;
    std::vector<LayerCuts> layers;

protected:
    QRect clipRect() const override { return m_columns->axisRect()->rect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        const int first = std::max(0, static_cast<int>(std::lround(m_rows->range().lower)));
        const int last =
            std::min(static_cast<int>(layers.size()) - 1, static_cast<int>(std::lround(m_rows->range().upper)));
        if (last < first)
            return;
        const QSize cell = pixels(first, 0).size();
        makeBrushes(std::min(cell.width(), cell.height()) / theme.unit);
        for (int layer = first; layer <= last; ++layer)
            if (!at(layer).cells.empty()) {
                drawHatches(*painter, layer);
                drawRow(*painter, layer);
                drawLocks(*painter, layer);
            }
    }

private:
    const LayerCuts& at(int layer) const { return layers[static_cast<std::size_t>(layer)]; }
    int heads(int layer) const { return static_cast<int>(at(layer).cells.size()); }
    QRect pixels(int layer, int head) const { return cellPixels(*m_columns, *m_rows, layer, head); }
    QRect row(int layer) const {
        return pixels(layer, 0).united(pixels(layer, heads(layer) - 1)).intersected(clipRect());
    }

    void makeBrushes(double cell) {
        const double ratio = m_columns->parentPlot()->bufferDevicePixelRatio();
        for (const Hatch hatch : {Hatch::cut, Hatch::preview, Hatch::onlyThere, Hatch::both})
            m_brushes[static_cast<std::size_t>(hatch)] = hatchBrush(hatch, cell, theme, ratio);
    }

    /// Neighbours alike are one rectangle: a mask of a large model is few of them.
    void drawHatches(QCPPainter& painter, int layer) const {
        const std::vector<Hatch>& cells = at(layer).cells;
        for (auto from = cells.begin(); from != cells.end();) {
            const auto to = std::find_if(from, cells.end(), [&](Hatch hatch) { return hatch != *from; });
            const QRect run = pixels(layer, static_cast<int>(from - cells.begin()))
                                  .united(pixels(layer, static_cast<int>(to - cells.begin()) - 1))
                                  .intersected(clipRect());
            if (*from != Hatch::none)
                painter.fillRect(run, m_brushes[static_cast<std::size_t>(*from)]);
            from = to;
        }
    }

    /// What is done to the sublayer or the block as a whole.
    void drawRow(QCPPainter& painter, int layer) const {
        const LayerCuts& cuts = at(layer);
        const QRect whole = row(layer);
        const bool roomy = whole.height() >= smallestForPair * theme.unit;
        if (!cuts.block || cuts.attention == AttentionCut::drop) {
            drawLine(painter, whole, 0, !cuts.block && roomy ? 2 : 1);
        } else if (cuts.attention == AttentionCut::bypassQk) {
            const int apart = theme.length(2);
            const QRect text = drawBypassText(painter, whole, cuts.alpha);
            for (const QRect& side : text.isNull() ? std::vector<QRect>{whole}
                                                   : std::vector<QRect>{QRect(whole.topLeft(), text.bottomLeft()),
                                                                        QRect(text.topRight(), whole.bottomRight())}) {
                const QRect band(side.left(), whole.top(), side.width(), whole.height());
                drawLine(painter, band, roomy ? -apart : 0, 1);
                if (roomy)
                    drawLine(painter, band, apart, 1);
            }
        }
    }

    /// Across the middle of a band, moved down by some pixels.
    void drawLine(QCPPainter& painter, const QRect& band, int down, int width) const {
        const int line = theme.length(width);
        const int top = band.center().y() + down - line / 2;
        painter.fillRect(QRect(band.left(), top, band.width(), line), QColor(0, 0, 0, 220));
        painter.fillRect(QRect(band.left(), top + line, band.width(), line), QColor(255, 255, 255, 220));
    }

    /// @return where the text stands; null when there is no room for it
    QRect drawBypassText(QCPPainter& painter, const QRect& band, double alpha) const {
        QFont font = theme.font;
        const int height = QFontMetrics(font).height();
        if (band.height() < smallestText * theme.unit)
            return {};
        if (height > band.height())
            font.setPixelSize(std::max(1, QFontInfo(font).pixelSize() * band.height() / height));
        const QFontMetrics metrics(font);
        const QString text = QStringLiteral("bypass Q/K  α %1").arg(alpha);
        const int width = metrics.horizontalAdvance(text);
        if (width + theme.length(24) > band.width())
            return {};
        const QRect place(band.center().x() - width / 2, band.top(), width, band.height());
        QPainterPath path;
        path.addText(place.left(), place.center().y() + (metrics.ascent() - metrics.descent()) / 2.0, font, text);
        painter.setAntialiasing(true);
        painter.strokePath(path, QPen(theme.background, 3.5 * theme.unit, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.fillPath(path, theme.text);
        painter.setAntialiasing(false);
        return place.adjusted(-theme.length(6), 0, theme.length(6), 0);
    }

    void drawLocks(QCPPainter& painter, int layer) const {
        const std::vector<bool>& locked = at(layer).locked;
        for (int head = 0; head < heads(layer); ++head) {
            if (!locked[static_cast<std::size_t>(head)])
                continue;
            const QRect cell = pixels(layer, head);
            const double side = std::min({0.6 * cell.width(), 0.6 * cell.height(), 11 * theme.unit});
            const double inset = side > smallestForGlyph * theme.unit / 2 ? 2 * theme.unit : 0;
            drawLock(painter, QRectF(cell.right() + 1 - side - inset, cell.top() + inset, side, side), theme);
        }
    }

    QCPAxis* m_columns;
    QCPAxis* m_rows;
    std::array<QBrush, 5> m_brushes;
};

HeadsCuts::HeadsCuts(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme)
    : m_drawing(new Drawing(columns, rows)) {
    m_drawing->theme = theme;
}

void HeadsCuts::setTheme(const PlotTheme& theme) {
    m_drawing->theme = theme;
}

void HeadsCuts::setLayers(const std::vector<LayerCuts>& layers) {
    m_drawing->layers = layers;
}

} // namespace secateur
