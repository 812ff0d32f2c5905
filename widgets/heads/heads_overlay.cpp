#include "widgets/heads/heads_overlay.h"

#include "widgets/plot/plot_points.h"

#include <QCoreApplication>

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr std::array allParts{LayerPart::attention, LayerPart::mlp, LayerPart::block, LayerPart::protection};
constexpr double slotWidth = 23;      ///< units: of a header
constexpr double widestSwitch = 15;   ///< units
constexpr double headerSize = 0.8;    ///< of the text's size
constexpr double gap = 8;             ///< between the cells and the first switch
constexpr double lowestRow = 5;       ///< with switches
constexpr double smallestLetter = 10; ///< side of a switch with a letter

struct SwitchTexts {
    Q_DECLARE_TR_FUNCTIONS(LayerSwitches)
};

/// Headers of the columns of switches; the lock needs none.
QStringList switchTitles() {
    return {SwitchTexts::tr("attn"), SwitchTexts::tr("MLP"), SwitchTexts::tr("block")};
}

} // namespace

// ---- outlines

void HeadsOutlines::setActive(std::optional<HeadId> head, int count) {
    m_active = head;
    m_activeCount = count;
}

void HeadsOutlines::setHovered(std::optional<HeadId> head, int count) {
    m_hovered = head;
    m_hoveredCount = count;
}

/// The area of the cells, enlarged because half of an outline lies outside of the outermost cells.
QRect HeadsOutlines::clipRect() const {
    const int line = theme().length(3);
    return CellsDrawing::clipRect().adjusted(-line, -line, line, line);
}

void HeadsOutlines::draw(QCPPainter& painter) {
    drawVeil(painter);
    drawContour(painter);
    if (m_hovered)
        drawFrame(painter, pixels(m_hovered->layer, m_hovered->head, m_hoveredCount), 1, theme().text);
    if (m_active)
        drawFrame(painter, pixels(m_active->layer, m_active->head, m_activeCount), 3, theme().accent);
    if (!m_lasso.isEmpty())
        drawLasso(painter, m_lasso, theme());
}

/// The edges between selected and unselected cells, as thin rectangles.
std::vector<QRect> HeadsOutlines::contour() const {
    std::vector<QRect> edges;
    const QRect shown = clipRect();
    for (const HeadId& head : m_selected) {
        const QRect cell = pixels(head.layer, head.head);
        if (!cell.intersects(shown))
            continue;
        const auto other = [&](int down, int across) {
            return !m_selected.contains({head.layer + down, head.head + across});
        };
        const int right = cell.right() + 1;
        const int bottom = cell.bottom() + 1;
        if (other(-1, 0))
            edges.emplace_back(cell.left(), cell.top(), cell.width(), 0);
        if (other(1, 0))
            edges.emplace_back(cell.left(), bottom, cell.width(), 0);
        if (other(0, -1))
            edges.emplace_back(cell.left(), cell.top(), 0, cell.height());
        if (other(0, 1))
            edges.emplace_back(right, cell.top(), 0, cell.height());
    }
    return edges;
}

void HeadsOutlines::drawVeil(QCPPainter& painter) const {
    const QRect shown = CellsDrawing::clipRect();
    const QColor veil = theme().veil();
    for (std::size_t layer = 0; layer < m_passing.size(); ++layer)
        for (std::size_t head = 0; head < m_passing[layer].size(); ++head)
            if (!m_passing[layer][head])
                painter.fillRect(pixels(static_cast<int>(layer), static_cast<int>(head)) & shown, veil);
}

/// Draws each line over a wider line in the background colour, so that it is visible on any colour of the map.
void HeadsOutlines::drawContour(QCPPainter& painter) const {
    const std::vector<QRect> edges = contour();
    for (const auto& [width, colour] :
         {std::pair(theme().length(2), theme().background), {theme().length(1), theme().accent}})
        for (const QRect& edge : edges)
            painter.fillRect(edge.adjusted(-width, -width, width, width), colour);
}

void HeadsOutlines::drawFrame(QCPPainter& painter, const QRect& cell, int width, const QColor& colour) const {
    const auto ring = [&](int outside, int inside, const QColor& with) {
        const QRect outer = cell.adjusted(-outside, -outside, outside, outside);
        const QRect inner = cell.adjusted(inside, inside, -inside, -inside);
        painter.fillRect(QRect(outer.topLeft(), QPoint(outer.right(), inner.top() - 1)), with);
        painter.fillRect(QRect(QPoint(outer.left(), inner.bottom() + 1), outer.bottomRight()), with);
        painter.fillRect(QRect(QPoint(outer.left(), inner.top()), QPoint(inner.left() - 1, inner.bottom())), with);
        painter.fillRect(QRect(QPoint(inner.right() + 1, inner.top()), QPoint(outer.right(), inner.bottom())), with);
    };
    const int line = theme().length(width);
    const int halo = theme().length(1);
    const bool roomy = std::min(cell.width(), cell.height()) > 2 * (line + 2 * halo);
    const int inside = roomy ? line - halo : 0;
    ring(2 * halo, roomy ? inside + halo : 0, theme().background);
    ring(halo, inside, colour);
}

// ---- switches

QString switchHint(const PruningMask& mask, const Protection& isProtected, LayerSwitch which) {
    const LayerMask& layer = mask.layer(which.layer);
    QString state;
    QString click;
    if (which.part == LayerPart::protection) {
        const bool on = isProtected.layers.contains(which.layer);
        state = on ? SwitchTexts::tr("protected") : SwitchTexts::tr("not protected");
        click = on ? SwitchTexts::tr("click to unprotect it") : SwitchTexts::tr("click to protect it");
    } else if (!layer.block) {
        state = SwitchTexts::tr("the block is dropped");
        click =
            which.part == LayerPart::block ? SwitchTexts::tr("click to restore it") : SwitchTexts::tr("B restores it");
    } else if (which.part == LayerPart::block) {
        state = SwitchTexts::tr("block");
        click = SwitchTexts::tr("click to drop it");
    } else if (which.part == LayerPart::mlp) {
        state = layer.mlp ? SwitchTexts::tr("MLP") : SwitchTexts::tr("the MLP is dropped");
        click = layer.mlp ? SwitchTexts::tr("click to drop it") : SwitchTexts::tr("click to restore it");
    } else {
        const bool isKept = layer.attention == AttentionCut::keep;
        state = isKept                                  ? SwitchTexts::tr("attention")
                : layer.attention == AttentionCut::drop ? SwitchTexts::tr("the attention is dropped")
                                                        : SwitchTexts::tr("Q/K bypassed, α %1").arg(layer.alpha);
        click = isKept ? SwitchTexts::tr("click to drop it") : SwitchTexts::tr("click to restore it");
    }
    return SwitchTexts::tr("L%1 · %2 · %3").arg(QString::number(which.layer), state, click);
}

int LayerSwitches::width() const {
    return theme().length(gap) + static_cast<int>(allParts.size()) * theme().length(slotWidth);
}

std::optional<LayerSwitch> LayerSwitches::at(QPointF point) const {
    for (int layer = 0; layer < static_cast<int>(m_layers.size()); ++layer)
        for (const LayerPart part : allParts)
            if (box({layer, part}).contains(point.toPoint()))
                return LayerSwitch{layer, part};
    return {};
}

QRect LayerSwitches::box(LayerSwitch which) const {
    const double height = rect()->height() / std::max(1.0, rows()->range().size());
    if (which.layer < 0 || which.layer >= static_cast<int>(m_layers.size()) || !isShown())
        return {};
    const LayerCuts& layer = cuts(which.layer);
    if ((which.part == LayerPart::attention && layer.cells.empty()) || (which.part == LayerPart::mlp && !layer.hasMlp))
        return {};
    const int side = std::max(2, static_cast<int>(std::min(height - theme().unit, widestSwitch * theme().unit)));
    const int slot = theme().length(slotWidth);
    const int left = rect()->right() + 1 + theme().length(gap) + static_cast<int>(which.part) * slot;
    const int middle = static_cast<int>(std::lround(rows()->coordToPixel(which.layer)));
    const QRect box(left + (slot - side) / 2, middle - side / 2, side, side);
    return rowsRect().contains(box.center()) ? box : QRect();
}

QRect LayerSwitches::rowsRect() const {
    const QRect cells = rect()->rect();
    return {cells.right() + 1, cells.top(), width(), cells.height()};
}

/// The header stands above the rows.
QRect LayerSwitches::clipRect() const {
    return rowsRect().adjusted(0, -headerHeight(), 0, 0);
}

int LayerSwitches::headerHeight() const {
    return QFontMetrics(theme().font).height() + theme().length(4);
}

void LayerSwitches::drawHeader(QCPPainter& painter) const {
    if (m_layers.empty() || !isShown())
        return;
    QFont font = theme().font;
    font.setPixelSize(std::max(1, static_cast<int>(headerSize * QFontInfo(font).pixelSize())));
    painter.setFont(font);
    painter.setPen(theme().muted);
    const QRect rows = rowsRect();
    const int slot = theme().length(slotWidth);
    int left = rows.left() + theme().length(gap);
    for (const QString& title : switchTitles()) {
        painter.drawText(QRect(left, rows.top() - headerHeight(), slot, headerHeight() - theme().length(3)),
                         Qt::AlignHCenter | Qt::AlignBottom | Qt::TextDontClip, title);
        left += slot;
    }
}

/// Whether any row has room for switches.
bool LayerSwitches::isShown() const {
    return rect()->height() / std::max(1.0, rows()->range().size()) >= lowestRow * theme().unit;
}

void LayerSwitches::draw(QCPPainter& painter) {
    drawHeader(painter);
    const auto [first, last] = rowsOnScreen(static_cast<int>(m_layers.size()));
    for (int layer = first; layer <= last; ++layer)
        for (const LayerPart part : allParts) {
            if (part == LayerPart::protection)
                drawProtection(painter, {layer, part});
            else
                drawSwitch(painter, {layer, part});
        }
}

void LayerSwitches::drawSwitch(QCPPainter& painter, LayerSwitch which) const {
    const QRect place = box(which);
    if (place.isNull())
        return;
    const LayerCuts& layer = cuts(which.layer);
    const bool isHovered = m_hovered == which;
    const bool bypassed = which.part == LayerPart::attention && layer.attention == AttentionCut::bypassQk;
    const bool off = which.part == LayerPart::attention ? layer.attention == AttentionCut::drop
                     : which.part == LayerPart::mlp     ? !layer.mlp
                                                        : !layer.block;
    const bool isInDroppedBlock = which.part != LayerPart::block && !layer.block;
    const QColor strong = isInDroppedBlock ? theme().muted : theme().text;
    if (off)
        painter.fillRect(place, strong);
    else if (isHovered)
        painter.fillRect(place, theme().grid);
    if (place.height() < smallestLetter * theme().unit) {
        if (!off)
            drawFrame(painter, place, bypassed ? strong : mixed(theme().background, theme().text, 0.3));
        return;
    }
    if (bypassed || isHovered)
        drawFrame(painter, place, bypassed ? strong : theme().muted);
    drawLetter(painter, place, which.part, bypassed, off ? theme().background : bypassed ? strong : theme().muted);
}

void LayerSwitches::drawLetter(QCPPainter& painter, const QRect& box, LayerPart part, bool bypassed,
                               const QColor& colour) const {
    constexpr std::array letters{u'A', u'M', u'B'};
    QFont font = theme().font;
    font.setPixelSize(std::max(1, std::min(box.height() * 3 / 4, QFontInfo(font).pixelSize())));
    painter.setFont(font);
    painter.setPen(colour);
    painter.drawText(box, Qt::AlignCenter | Qt::TextDontClip,
                     bypassed ? QStringLiteral("α") : QString(letters[static_cast<std::size_t>(part)]));
}

/// Draws the lock of a layer. If rows are too low for switches, a dot marks a protected layer.
void LayerSwitches::drawProtection(QCPPainter& painter, LayerSwitch which) const {
    const bool isProtected = cuts(which.layer).isProtected;
    if (!isProtected && m_hovered != which)
        return;
    PlotTheme colours = theme();
    if (!isProtected)
        colours.text = mixed(colours.background, colours.text, 0.3);
    QRectF place(box(which));
    if (place.isNull()) {
        const double dot = 2 * theme().unit;
        place = QRectF(rect()->right() + dot, rows()->coordToPixel(which.layer) - dot / 2, dot, dot);
    }
    const double side = std::min(place.height(), 12 * theme().unit);
    drawLock(painter, QRectF(place.center() - QPointF(side, side) / 2, QSizeF(side, side)), colours);
}

void LayerSwitches::drawFrame(QCPPainter& painter, const QRect& box, const QColor& colour) const {
    const int line = theme().length(1);
    painter.fillRect(QRect(box.left(), box.top(), box.width(), line), colour);
    painter.fillRect(QRect(box.left(), box.bottom() + 1 - line, box.width(), line), colour);
    painter.fillRect(QRect(box.left(), box.top(), line, box.height()), colour);
    painter.fillRect(QRect(box.right() + 1 - line, box.top(), line, box.height()), colour);
}

} // namespace secateur
