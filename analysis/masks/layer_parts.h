#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/masks/pruning_mask.h"

namespace secateur {

/// What a mask leaves of a layer, counted.
struct LayerParts {
    bool block = true; ///< false = the layer passes its input on, and nothing of it is left
    /// `none` where it is absent, dropped, or bypassed with alpha 0; `valueOnly` where it is bypassed with another.
    AttentionKind attention = AttentionKind::full;
    bool mlp = true;
    int heads = 0;   ///< 0 where attention is `none` or `linear`
    int kvHeads = 0; ///< those that a kept head still reads: a KV head goes only when all its query heads went
    int neurons = 0;
};

/// @param mask of a structure that the layer has
LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask);

} // namespace secateur
