#include "widgets/heads/heads_cuts.h"

#include "widgets/document/mask_editor.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPixmap>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double smallestForGlyph = 9; ///< in units of the theme, as are the next two
constexpr double smallestForPair = 7;
constexpr double smallestText = 9;

/// The lines of a hatch pattern: one dark and one light line in each period. Lengths are in units of the theme,
/// measured along an edge of the tile.
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

/// Share of a pixel's area where x + y < `to`. The origin is the middle of the pixel, whose sides are 1 long.
double shareBelow(double to) {
    const double t = std::clamp(to, -1.0, 1.0);
    return t < 0 ? (t + 1) * (t + 1) / 2 : 1 - (1 - t) * (1 - t) / 2;
}

/// Share of a pixel's area that diagonal bands cover. The first band begins at `from`; bands repeat with each period.
double bandShare(double middle, double from, double width, double period) {
    double share = 0;
    for (int repeat = -2; repeat <= 2; ++repeat) {
        const double start = from + repeat * period - middle;
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

void HeadsCuts::draw(QCPPainter& painter) {
    const auto [first, last] = rowsOnScreen(static_cast<int>(m_layers.size()));
    if (last < first)
        return;
    const QSize cell = pixels(first, 0).size();
    makeBrushes(std::min(cell.width(), cell.height()) / theme().unit);
    for (int layer = first; layer <= last; ++layer)
        if (!at(layer).cells.empty()) {
            drawHatches(painter, layer);
            drawSublayer(painter, layer);
            drawLocks(painter, layer);
        }
}

void HeadsCuts::makeBrushes(double cell) {
    const double ratio = plot()->bufferDevicePixelRatio();
    for (const Hatch hatch : {Hatch::cut, Hatch::preview, Hatch::onlyThere, Hatch::both})
        m_brushes[static_cast<std::size_t>(hatch)] = hatchBrush(hatch, cell, theme(), ratio);
}

/// Draws neighbouring cells with the same hatch as one rectangle, which is fast for large models.
void HeadsCuts::drawHatches(QCPPainter& painter, int layer) const {
    const std::vector<Hatch>& cells = at(layer).cells;
    for (auto from = cells.begin(); from != cells.end();) {
        const auto to = std::find_if(from, cells.end(), [&](Hatch hatch) { return hatch != *from; });
        const QRect run = pixels(layer, static_cast<int>(from - cells.begin()), static_cast<int>(to - from));
        if (*from != Hatch::none)
            painter.fillRect(run.intersected(clipRect()), m_brushes[static_cast<std::size_t>(*from)]);
        from = to;
    }
}

/// Draws lines through the row of a layer: one line if attention is dropped, a thicker line if the block is dropped,
/// two lines with the value of alpha if Q/K are bypassed.
void HeadsCuts::drawSublayer(QCPPainter& painter, int layer) const {
    const LayerCuts& cuts = at(layer);
    const QRect row = pixels(layer, 0, heads(layer)).intersected(clipRect());
    const bool roomy = row.height() >= smallestForPair * theme().unit;
    if (!cuts.block || cuts.attention == AttentionCut::drop) {
        drawLine(painter, row, 0, !cuts.block && roomy ? 2 : 1);
    } else if (cuts.attention == AttentionCut::bypassQk) {
        const int apart = theme().length(2);
        const QRect text = drawBypassText(painter, row, cuts.alpha);
        const std::vector<QRect> sides = text.isNull() ? std::vector<QRect>{row}
                                                       : std::vector<QRect>{QRect(row.topLeft(), text.bottomLeft()),
                                                                            QRect(text.topRight(), row.bottomRight())};
        for (const QRect& side : sides) {
            const QRect band(side.left(), row.top(), side.width(), row.height());
            drawLine(painter, band, roomy ? -apart : 0, 1);
            if (roomy)
                drawLine(painter, band, apart, 1);
        }
    }
}

/// Draws a horizontal line in the middle of a band. @param down distance in pixels below the middle
void HeadsCuts::drawLine(QCPPainter& painter, const QRect& band, int down, int width) const {
    const int line = theme().length(width);
    const int top = band.center().y() + down - line / 2;
    painter.fillRect(QRect(band.left(), top, band.width(), line), QColor(0, 0, 0, 220));
    painter.fillRect(QRect(band.left(), top + line, band.width(), line), QColor(255, 255, 255, 220));
}

/// Draws the text "bypass Q/K" with alpha in a band. @returns the area of the text; null if there is no room for it
QRect HeadsCuts::drawBypassText(QCPPainter& painter, const QRect& band, double alpha) const {
    QFont font = theme().font;
    const int height = QFontMetrics(font).height();
    if (band.height() < smallestText * theme().unit)
        return {};
    if (height > band.height())
        font.setPixelSize(std::max(1, QFontInfo(font).pixelSize() * band.height() / height));
    const QFontMetrics metrics(font);
    const QString text = QStringLiteral("bypass Q/K  α %1").arg(alpha);
    const int width = metrics.horizontalAdvance(text);
    if (width + theme().length(24) > band.width())
        return {};
    const QRect place(band.center().x() - width / 2, band.top(), width, band.height());
    QPainterPath path;
    path.addText(place.left(), place.center().y() + (metrics.ascent() - metrics.descent()) / 2.0, font, text);
    const QPen halo(theme().background, 3.5 * theme().unit, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
    painter.setAntialiasing(true);
    painter.strokePath(path, halo);
    painter.fillPath(path, theme().text);
    painter.setAntialiasing(false);
    return place.adjusted(-theme().length(6), 0, theme().length(6), 0);
}

void HeadsCuts::drawLocks(QCPPainter& painter, int layer) const {
    for (int head = 0; head < heads(layer); ++head) {
        if (!at(layer).locked[static_cast<std::size_t>(head)])
            continue;
        const QRect cell = pixels(layer, head);
        const double side = std::min({0.6 * cell.width(), 0.6 * cell.height(), 11 * theme().unit});
        const double inset = side > smallestForGlyph * theme().unit / 2 ? 2 * theme().unit : 0;
        drawLock(painter, QRectF(cell.right() + 1 - side - inset, cell.top() + inset, side, side), theme());
    }
}

HatchLegend::HatchLegend(QWidget* parent)
    : QWidget(parent)
    , m_here()
    , m_there()
    , m_both() {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 2, 8, 6);
    row->setSpacing(6);
    m_here = addEntry(Hatch::cut);
    m_there = addEntry(Hatch::onlyThere);
    m_both = addEntry(Hatch::both);
    m_both.text->setText(tr("cut in both"));
    row->addStretch();
    draw();
}

HatchLegend::Entry HatchLegend::addEntry(Hatch hatch) {
    const Entry entry{hatch, new QLabel, new QLabel};
    entry.text->setTextFormat(Qt::PlainText);
    auto* row = static_cast<QHBoxLayout*>(layout());
    row->addWidget(entry.picture);
    row->addWidget(entry.text);
    row->addSpacing(12);
    return entry;
}

void HatchLegend::setNames(const QString& here, const QString& there) {
    m_here.text->setText(tr("cut only in “%1”").arg(here));
    m_there.text->setText(tr("cut only in “%1”").arg(there));
}

void HatchLegend::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        draw();
}

void HatchLegend::draw() {
    const PlotTheme theme = themeOf(*this);
    const QSize size(28, 14);
    for (const Entry& entry : {m_here, m_there, m_both}) {
        QPixmap picture(size * devicePixelRatioF());
        picture.setDevicePixelRatio(devicePixelRatioF());
        picture.fill(theme.muted);
        QPainter painter(&picture);
        painter.fillRect(QRect(QPoint(), size), hatchBrush(entry.hatch, size.height(), theme, devicePixelRatioF()));
        painter.end();
        entry.picture->setPixmap(picture);
    }
}

} // namespace secateur
