#include "analysis/masks/layer_parts.h"

#include <algorithm>

namespace secateur {

namespace {

AttentionKind attentionLeft(const LayerSpec& layer, const LayerMask& mask) {
    if (!mask.block || mask.attention == AttentionCut::drop)
        return AttentionKind::none;
    const bool bypassed = mask.attention == AttentionCut::bypassQk;
    const double own = layer.attention == AttentionKind::valueOnly ? layer.alpha : 1;
    if (own == 0 || (bypassed && mask.alpha == 0))
        return AttentionKind::none;
    return bypassed && layer.attention == AttentionKind::full ? AttentionKind::valueOnly : layer.attention;
}

} // namespace

LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask) {
    LayerParts parts;
    parts.block = mask.block;
    parts.attention = attentionLeft(layer, mask);
    parts.mlp = mask.block && mask.mlp && layer.ffn > 0;
    parts.neurons = mask.keptNeurons();
    if (parts.attention == AttentionKind::none || parts.attention == AttentionKind::linear)
        return parts;
    int last = -1;
    for (int head = 0; head < layer.heads; ++head) {
        if (!mask.heads[static_cast<std::size_t>(head)])
            continue;
        ++parts.heads;
        if (const int group = layer.kvGroup(head); group != last) {
            last = group;
            ++parts.kvHeads;
        }
    }
    return parts;
}

} // namespace secateur
