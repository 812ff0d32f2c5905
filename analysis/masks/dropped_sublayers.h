#pragma once

#include "analysis/masks/pruning_mask.h"

namespace secateur {

/// Whether a layer's attention adds nothing to the stream: it or its block is dropped, or alpha is 0.
inline bool dropsAttention(const LayerMask& mask) {
    const bool isScaledAway = mask.attention == AttentionCut::bypassQk && mask.alpha == 0;
    return !mask.block || mask.attention == AttentionCut::drop || isScaledAway;
}

/// Whether its MLP adds nothing: it or its block is dropped.
inline bool dropsMlp(const LayerMask& mask) {
    return !mask.block || !mask.mlp;
}

} // namespace secateur
