#include "widgets/layers/layer_cuts.h"

#include "widgets/document/mask_editor.h"

#include <QCoreApplication>
#include <QMenu>

#include <algorithm>
#include <optional>

namespace secateur {

namespace {

QString cutText(const char* text) {
    return QCoreApplication::translate("LayerCuts", text);
}

bool has(const MaskEditor& masks, int layer, Sublayer part) {
    const LayerSpec& spec = masks.spec().layers[static_cast<std::size_t>(layer)];
    return part == Sublayer::attention ? spec.heads > 0 : part == Sublayer::mlp ? spec.ffn > 0 : true;
}

std::set<int> layersWith(const MaskEditor& masks, std::set<int> layers, Sublayer part) {
    std::erase_if(layers, [&](int layer) { return !has(masks, layer, part); });
    return layers;
}

bool lacks(const LayerMask& layer, Sublayer part) {
    return part == Sublayer::attention ? layer.attention == AttentionCut::drop
           : part == Sublayer::mlp     ? !layer.mlp
                                       : !layer.block;
}

/// The alpha that all of them are bypassed with.
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
    QMenu* bypass = menu.addMenu(cutText("Bypass &Q/K of %1").arg(whose));
    const std::optional<double> current = alphaOf(masks, layers);
    for (const double alpha : {0.0, 0.1, 0.2, 0.5, 1.0}) {
        QAction* action = bypass->addAction(cutText("with α %1").arg(alpha), &masks, [&masks, layers, alpha] {
            masks.setAttention(layers, AttentionCut::bypassQk, alpha);
        });
        action->setCheckable(true);
        action->setChecked(current == alpha);
    }
    bypass->setEnabled(!layers.empty());
}

} // namespace

bool isDropped(const MaskEditor& masks, const std::set<int>& layers, Sublayer part) {
    const std::set<int> chosen = layersWith(masks, layers, part);
    const auto isOpen = [&](int layer) {
        return !lacks(masks.mask().layer(layer), part) && !masks.isProtected().touches(layer);
    };
    const auto isLacking = [&](int layer) { return lacks(masks.mask().layer(layer), part); };
    return std::ranges::none_of(chosen, isOpen) && std::ranges::any_of(chosen, isLacking);
}

void toggle(MaskEditor& masks, const std::set<int>& layers, Sublayer part) {
    const std::set<int> chosen = layersWith(masks, layers, part);
    if (chosen.empty())
        return;
    const bool cut = !isDropped(masks, layers, part);
    if (part == Sublayer::attention)
        masks.setAttention(chosen, cut ? AttentionCut::drop : AttentionCut::keep);
    else if (part == Sublayer::mlp)
        masks.setMlpCut(chosen, cut);
    else
        masks.setBlockCut(chosen, cut);
}

void addLayerCuts(QMenu& menu, MaskEditor& masks, const std::set<int>& layers) {
    const QString whose = layers.size() == 1 ? cutText("L%1").arg(*layers.begin()) : cutText("%1 layers").arg(layers.size());
    const bool isWhole = std::ranges::any_of(layers, [&](int layer) { return masks.mask().layer(layer).block; });
    const auto add = [&](Sublayer part, const QString& drop, const QString& restore) {
        const bool dropped = isDropped(masks, layers, part);
        QAction* action = menu.addAction((dropped ? restore : drop).arg(whose), &masks,
                                         [&masks, layers, part] { toggle(masks, layers, part); });
        // What lies within a dropped block has no state of its own.
        action->setEnabled(!layersWith(masks, layers, part).empty() && (part == Sublayer::block || isWhole));
    };
    add(Sublayer::attention, cutText("Drop the &attention of %1"), cutText("Restore the &attention of %1"));
    add(Sublayer::mlp, cutText("Drop the &MLP of %1"), cutText("Restore the &MLP of %1"));
    add(Sublayer::block, cutText("Drop the &block of %1"), cutText("Restore the &block of %1"));
    addBypass(menu, masks, isWhole ? layersWith(masks, layers, Sublayer::attention) : std::set<int>(), whose);
    QAction* restore =
        menu.addAction(cutText("&Restore %1").arg(whose), &masks, [&masks, layers] { masks.restoreLayers(layers); });
    restore->setEnabled(std::ranges::any_of(layers, [&](int layer) { return !masks.mask().layer(layer).keepsAll(); }));
    menu.addSeparator();
}

} // namespace secateur
