#include "backends/config/spec_checks.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

namespace secateur {

ModelSpec specOf(const ArchitectureInfo& architecture) {
    ModelSpec spec;
    spec.architecture = architecture.id;
    spec.family = architecture.family;
    spec.norm = architecture.norm;
    spec.normPlace = architecture.normPlace;
    spec.normWeightOffset = architecture.normWeightOffset;
    spec.activation = architecture.defaults.activation;
    spec.gatedMlp = architecture.gatedMlp;
    spec.lmHeadBias = architecture.lmHeadBias;
    spec.positions = architecture.positions;
    return spec;
}

int headDimOf(int hidden, int heads, const std::string& subject) {
    if (heads < 1 || hidden % heads != 0)
        throw Error(fmt::format("states no head size, and {} heads do not divide the width {}", heads, hidden),
                    subject);
    return hidden / heads;
}

void checkLayers(const ModelSpec& spec, const std::string& subject) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        if (layer.attention == AttentionKind::none || layer.attention == AttentionKind::linear)
            continue;
        const bool hasNoHeads = layer.heads == 0 && layer.kvHeads == 0; // all were pruned
        if (!hasNoHeads && (layer.kvHeads < 1 || layer.heads % layer.kvHeads != 0))
            throw Error(fmt::format("layer {} has {} heads, which {} KV heads do not divide", index, layer.heads,
                                    layer.kvHeads),
                        subject);
        if (layer.rotary.dims > layer.headDim)
            throw Error(
                fmt::format("layer {} turns {} dimensions of heads of {}", index, layer.rotary.dims, layer.headDim),
                subject);
        if (layer.rotary.dims % 2 != 0)
            throw Error(fmt::format("layer {} has {} rotary dimensions, an odd number", index, layer.rotary.dims),
                        subject);
    }
}

} // namespace secateur
