#include "widgets/layers/layers_panel.h"

#include "widgets/document/mask_editor.h"

#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QLabel>
#include <QMenu>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <optional>
#include <utility>

namespace secateur {

namespace {

struct LayerCutTexts {
    Q_DECLARE_TR_FUNCTIONS(LayerCuts)
};

bool has(const MaskEditor& masks, int layer, LayerUnit unit) {
    const LayerSpec& spec = masks.spec().layers[static_cast<std::size_t>(layer)];
    return unit == LayerUnit::attention ? spec.heads > 0 : unit == LayerUnit::mlp ? spec.ffn > 0 : true;
}

std::set<int> layersWith(const MaskEditor& masks, std::set<int> layers, LayerUnit unit) {
    std::erase_if(layers, [&](int layer) { return !has(masks, layer, unit); });
    return layers;
}

bool lacks(const LayerMask& layer, LayerUnit unit) {
    return unit == LayerUnit::attention ? layer.attention == AttentionCut::drop
           : unit == LayerUnit::mlp     ? !layer.mlp
                                        : !layer.block;
}

/// The alpha with which all of these layers are bypassed; empty if they are not all bypassed with the same alpha.
std::optional<double> alphaOf(const MaskEditor& masks, const std::set<int>& layers) {
    std::optional<double> alpha;
    for (const int index : layers) {
        const LayerMask& layer = masks.mask().layer(index);
        if (layer.attention != AttentionCut::bypassQk || (alpha && *alpha != layer.alpha))
            return {};
        alpha = layer.alpha;
    }
    return alpha;
}

void addBypass(QMenu& menu, MaskEditor& masks, const std::set<int>& layers, const QString& whose) {
    QMenu* bypass = menu.addMenu(LayerCutTexts::tr("Bypass &Q/K of %1").arg(whose));
    const std::optional<double> current = alphaOf(masks, layers);
    for (const double alpha : {0.0, 0.1, 0.2, 0.5, 1.0}) {
        QAction* action = bypass->addAction(LayerCutTexts::tr("with α %1").arg(alpha), &masks, [&masks, layers, alpha] {
            masks.setAttention(layers, AttentionCut::bypassQk, alpha);
        });
        action->setCheckable(true);
        action->setChecked(current == alpha);
    }
    bypass->setEnabled(!layers.empty());
}

/// Whether the unit is dropped in all of these layers that are not protected.
bool isDropped(const MaskEditor& masks, const std::set<int>& layers, LayerUnit unit) {
    const std::set<int> chosen = layersWith(masks, layers, unit);
    const auto isOpen = [&](int layer) {
        return !lacks(masks.mask().layer(layer), unit) && !masks.isProtected().touches(layer);
    };
    const auto isLacking = [&](int layer) { return lacks(masks.mask().layer(layer), unit); };
    return std::ranges::none_of(chosen, isOpen) && std::ranges::any_of(chosen, isLacking);
}

void toggleUnit(MaskEditor& masks, const std::set<int>& layers, LayerUnit unit) {
    const std::set<int> chosen = layersWith(masks, layers, unit);
    if (chosen.empty())
        return;
    const bool cut = !isDropped(masks, layers, unit);
    if (unit == LayerUnit::attention)
        masks.setAttention(chosen, cut ? AttentionCut::drop : AttentionCut::keep);
    else if (unit == LayerUnit::mlp)
        masks.setMlpCut(chosen, cut);
    else
        masks.setBlockCut(chosen, cut);
}

void addLayerCuts(QMenu& menu, MaskEditor& masks, const std::set<int>& layers) {
    const QString whose = layers.size() == 1 ? LayerCutTexts::tr("L%1").arg(*layers.begin())
                                             : LayerCutTexts::tr("%1 layers").arg(layers.size());
    const bool hasBlock = std::ranges::any_of(layers, [&](int layer) { return masks.mask().layer(layer).block; });
    const auto add = [&](LayerUnit unit, const QString& drop, const QString& restore) {
        const bool dropped = isDropped(masks, layers, unit);
        QAction* action = menu.addAction((dropped ? restore : drop).arg(whose), &masks,
                                         [&masks, layers, unit] { toggleUnit(masks, layers, unit); });
        // A dropped block must be restored before its sublayers can be switched.
        action->setEnabled(!layersWith(masks, layers, unit).empty() && (unit == LayerUnit::block || hasBlock));
    };
    add(LayerUnit::attention, LayerCutTexts::tr("Drop the &attention of %1"),
        LayerCutTexts::tr("Restore the &attention of %1"));
    add(LayerUnit::mlp, LayerCutTexts::tr("Drop the &MLP of %1"), LayerCutTexts::tr("Restore the &MLP of %1"));
    add(LayerUnit::block, LayerCutTexts::tr("Drop the &block of %1"), LayerCutTexts::tr("Restore the &block of %1"));
    addBypass(menu, masks, hasBlock ? layersWith(masks, layers, LayerUnit::attention) : std::set<int>(), whose);
    QAction* restore = menu.addAction(LayerCutTexts::tr("&Restore %1").arg(whose), &masks,
                                      [&masks, layers] { masks.restoreLayers(layers); });
    restore->setEnabled(std::ranges::any_of(layers, [&](int layer) { return !masks.mask().layer(layer).keepsAll(); }));
    menu.addSeparator();
}

} // namespace

LayersPanel::LayersPanel(MaskEditor* masks, Selection* selection, LayersPlot::Marked marked, Values values)
    : m_masks(masks)
    , m_values(std::move(values))
    , m_plot(new LayersPlot(masks, selection, marked, this))
    , m_legend(new LayerMarksLegend) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_plot, 1);
    column->addWidget(m_legend);
    connect(m_plot, &LayersPlot::toolTipRequested, this, &LayersPanel::showToolTip);
    connect(m_plot, &LayersPlot::layerHovered, this, &LayersPanel::updateHoverText);
    connect(m_plot, &LayersPlot::currentLayerChanged, this, &LayersPanel::updateHoverText);
    connect(m_plot, &LayersPlot::marksChanged, this, [this] {
        m_legend->setLayers(m_plot->marks());
        updateHoverText();
    });
}

void LayersPanel::toggle(LayerUnit unit) {
    toggleUnit(*m_masks, m_plot->selectedLayers(), unit);
}

void LayersPanel::addCuts(QMenu& menu, const QContextMenuEvent& event) {
    if (event.reason() == QContextMenuEvent::Mouse)
        m_plot->selectForMenu(m_plot->mapFromGlobal(event.globalPos()));
    if (const std::set<int> layers = m_plot->selectedLayers(); !layers.empty())
        addLayerCuts(menu, *m_masks, layers);
}

QStringList LayersPanel::linesOf(int layer, bool exact) const {
    QStringList lines = m_values(layer, exact);
    lines.prepend(QString("L%1").arg(layer));
    lines << cutSummary(m_masks->mask(), layer);
    lines.removeAll(QString());
    return lines;
}

void LayersPanel::updateHoverText() {
    const std::optional<int> layer = m_plot->hoveredLayer() ? m_plot->hoveredLayer() : m_plot->currentLayer();
    const QString text = layer ? linesOf(*layer, false).join(" · ") : QString();
    m_plot->setAccessibleDescription(text);
    emit hoverText(text);
}

void LayersPanel::showToolTip(const QPoint& globalPosition) {
    if (const std::optional<int> layer = m_plot->hoveredLayer())
        QToolTip::showText(globalPosition, linesOf(*layer, true).join('\n'), m_plot);
    else
        QToolTip::hideText();
}

QLabel* emptyPage(const QString& text) {
    auto* page = new QLabel(text);
    page->setAlignment(Qt::AlignCenter);
    page->setEnabled(false);
    return page;
}

} // namespace secateur
