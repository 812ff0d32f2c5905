#include "widgets/heads/layer_switches.h"

#include <QCoreApplication>
#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

constexpr std::array allParts{LayerPart::attention, LayerPart::mlp, LayerPart::block, LayerPart::protection};
constexpr double slotWidth = 16;      ///< units
constexpr double gap = 8;             ///< between the cells and the first
constexpr double lowestRow = 5;       ///< with switches
constexpr double smallestLetter = 10; ///< side of a switch

QString switchText(const char* text) {
    return QCoreApplication::translate("LayerSwitches", text);
}

} // namespace

QString switchHint(const PruningMask& mask, const Protection& isProtected, LayerSwitch which) {
    const LayerMask& layer = mask.layer(which.layer);
    QString state;
    QString click;
    if (which.part == LayerPart::protection) {
        const bool on = isProtected.layers.contains(which.layer);
        state = on ? switchText("protected") : switchText("not protected");
        click = on ? switchText("click to let it be cut") : switchText("click to protect it");
    } else if (!layer.block) {
        state = switchText("the block is dropped");
        click = which.part == LayerPart::block ? switchText("click to restore it") : switchText("B restores it");
    } else if (which.part == LayerPart::block) {
        state = switchText("block");
        click = switchText("click to drop it");
    } else if (which.part == LayerPart::mlp) {
        state = layer.mlp ? switchText("MLP") : switchText("the MLP is dropped");
        click = layer.mlp ? switchText("click to drop it") : switchText("click to restore it");
    } else {
        state = layer.attention == AttentionCut::keep   ? switchText("attention")
                : layer.attention == AttentionCut::drop ? switchText("the attention is dropped")
                                                        : switchText("Q/K bypassed, α %1").arg(layer.alpha);
        click = layer.attention == AttentionCut::keep ? switchText("click to drop it") : switchText("click to restore it");
    }
    return switchText("L%1 · %2 · %3").arg(QString::number(which.layer), state, click);
}

class LayerSwitches::Drawing : public QCPLayerable {
public:
    explicit Drawing(QCPAxis* rows)
        : QCPLayerable(rows->parentPlot(), "overlay", rows->axisRect())
        , m_rows(rows) {
        setParent(rows->axisRect());
    }

    PlotTheme theme;
    std::vector<LayerCuts> layers;
    std::optional<LayerSwitch> hovered;

    QRect rect(LayerSwitch which) const {
        const double height = m_rows->axisRect()->height() / std::max(1.0, m_rows->range().size());
        if (which.layer < 0 || which.layer >= static_cast<int>(layers.size()) || height < lowestRow * theme.unit)
            return {};
        const LayerCuts& cuts = layers[static_cast<std::size_t>(which.layer)];
        if ((which.part == LayerPart::attention && cuts.cells.empty()) ||
            (which.part == LayerPart::mlp && !cuts.hasMlp))
            return {};
        const int side = std::max(2, static_cast<int>(std::min(height - theme.unit, (slotWidth - 1) * theme.unit)));
        const int slot = theme.length(slotWidth);
        const int middle = static_cast<int>(std::lround(m_rows->coordToPixel(which.layer)));
        const QRect box(m_rows->axisRect()->right() + 1 + theme.length(gap) + static_cast<int>(which.part) * slot +
                            (slot - side) / 2,
                        middle - side / 2, side, side);
        return clipRect().contains(box.center()) ? box : QRect();
    }

protected:
    QRect clipRect() const override {
        const QRect cells = m_rows->axisRect()->rect();
        return {cells.right() + 1, cells.top(), theme.length(gap) + 4 * theme.length(slotWidth), cells.height()};
    }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        const int first = std::max(0, static_cast<int>(std::lround(m_rows->range().lower)));
        const int last =
            std::min(static_cast<int>(layers.size()) - 1, static_cast<int>(std::lround(m_rows->range().upper)));
        for (int layer = first; layer <= last; ++layer)
            for (const LayerPart part : allParts)
                drawSwitch(*painter, {layer, part});
    }

private:
    void drawSwitch(QCPPainter& painter, LayerSwitch which) const {
        const LayerCuts& cuts = layers[static_cast<std::size_t>(which.layer)];
        const QRect box = rect(which);
        const bool isHovered = hovered == which;
        if (which.part == LayerPart::protection) {
            drawProtection(painter, which.layer, box, cuts.isProtected, isHovered);
            return;
        }
        if (box.isNull())
            return;
        const bool bypassed = which.part == LayerPart::attention && cuts.attention == AttentionCut::bypassQk;
        const bool off = which.part == LayerPart::attention ? cuts.attention == AttentionCut::drop
                         : which.part == LayerPart::mlp     ? !cuts.mlp
                                                            : !cuts.block;
        const bool within = which.part != LayerPart::block && !cuts.block; // nothing of its own to say
        const QColor strong = within ? theme.muted : theme.text;
        if (off)
            painter.fillRect(box, strong);
        else if (isHovered)
            painter.fillRect(box, theme.grid);
        if (box.height() < smallestLetter * theme.unit) {
            if (!off)
                drawFrame(painter, box, bypassed ? strong : mixed(theme.background, theme.text, 0.3));
            return;
        }
        if (bypassed || isHovered)
            drawFrame(painter, box, bypassed ? strong : theme.muted);
        constexpr std::array letters{u'A', u'M', u'B'};
        QFont font = theme.font;
        font.setPixelSize(std::max(1, std::min(box.height() * 3 / 4, QFontInfo(font).pixelSize())));
        painter.setFont(font);
        painter.setPen(off ? theme.background : bypassed ? strong : theme.muted);
        painter.drawText(box, Qt::AlignCenter | Qt::TextDontClip,
                         bypassed ? QStringLiteral("α") : QString(letters[static_cast<std::size_t>(which.part)]));
    }

    /// Shown even where the switches are not: the only sign of it.
    void drawProtection(QCPPainter& painter, int layer, const QRect& box, bool isProtected, bool isHovered) const {
        PlotTheme colours = theme;
        if (!isProtected)
            colours.text = mixed(theme.background, theme.text, 0.3);
        if (!isProtected && !isHovered)
            return;
        QRectF place(box);
        if (box.isNull()) {
            const double dot = 2 * theme.unit;
            place = QRectF(m_rows->axisRect()->right() + dot, m_rows->coordToPixel(layer) - dot / 2, dot, dot);
        }
        const double side = std::min(place.height(), 12 * theme.unit);
        drawLock(painter, QRectF(place.center() - QPointF(side, side) / 2, QSizeF(side, side)), colours);
    }

    void drawFrame(QCPPainter& painter, const QRect& box, const QColor& colour) const {
        const int line = theme.length(1);
        painter.fillRect(QRect(box.left(), box.top(), box.width(), line), colour);
        painter.fillRect(QRect(box.left(), box.bottom() + 1 - line, box.width(), line), colour);
        painter.fillRect(QRect(box.left(), box.top(), line, box.height()), colour);
        painter.fillRect(QRect(box.right() + 1 - line, box.top(), line, box.height()), colour);
    }

    QCPAxis* m_rows;
};

LayerSwitches::LayerSwitches(QCPAxis* rows, const PlotTheme& theme)
    : m_drawing(new Drawing(rows)) {
    m_drawing->theme = theme;
}

void LayerSwitches::setTheme(const PlotTheme& theme) {
    m_drawing->theme = theme;
}

void LayerSwitches::setLayers(const std::vector<LayerCuts>& layers) {
    m_drawing->layers = layers;
}

void LayerSwitches::setHovered(std::optional<LayerSwitch> hovered) {
    m_drawing->hovered = hovered;
}

int LayerSwitches::width() const {
    const PlotTheme& theme = m_drawing->theme;
    return theme.length(gap) + static_cast<int>(allParts.size()) * theme.length(slotWidth);
}

std::optional<LayerSwitch> LayerSwitches::at(QPointF point) const {
    for (int layer = 0; layer < static_cast<int>(m_drawing->layers.size()); ++layer)
        for (const LayerPart part : allParts)
            if (m_drawing->rect({layer, part}).contains(point.toPoint()))
                return LayerSwitch{layer, part};
    return {};
}

QRect LayerSwitches::rect(LayerSwitch which) const {
    return m_drawing->rect(which);
}

} // namespace secateur
