#include "analysis/masks/layer_operations.h"

#include <algorithm>

namespace secateur {

namespace {

double attentionOperations(const ModelSpec& spec, const LayerSpec& layer, const LayerParts& parts, int positions) {
    if (parts.attention == AttentionKind::none)
        return 0;
    const double hidden = spec.hidden;
    if (parts.attention == AttentionKind::linear)
        return 2 * hidden * hidden;
    const double heads = 1.0 * parts.heads * layer.headDim;
    const double groups = 1.0 * parts.kvHeads * layer.headDim;
    if (parts.attention == AttentionKind::valueOnly)
        return 2 * hidden * (groups + heads);
    // A token sees half of the positions before and behind it, itself included, or what a window shows of them.
    const double length = positions;
    const double window = layer.window > 0 ? std::min<double>(layer.window, length) : length;
    const double visible = window - window * (window - 1) / (2 * length);
    return 2 * hidden * (2 * heads + 2 * groups) + 4 * heads * visible;
}

/// From each layer on, and behind the last.
std::vector<double> operationsFrom(const ModelSpec& spec, const PruningMask& mask, int positions) {
    std::vector<double> sums{lmHeadOperations(spec)};
    for (int layer = spec.layerCount() - 1; layer >= 0; --layer)
        sums.push_back(sums.back() + layerOperations(spec, layer, mask.layer(layer), positions));
    std::ranges::reverse(sums);
    return sums;
}

} // namespace

double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions) {
    const LayerSpec& own = spec.layers.at(static_cast<std::size_t>(layer));
    const double mlp = (spec.gatedMlp ? 6.0 : 4.0) * spec.hidden * parts.neurons;
    return mlp + attentionOperations(spec, own, parts, positions);
}

double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions) {
    return layerOperations(spec, layer, partsLeft(spec.layers.at(static_cast<std::size_t>(layer)), mask), positions);
}

double lmHeadOperations(const ModelSpec& spec) {
    return 2.0 * spec.hidden * spec.vocab;
}

std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions) {
    const double dense = operationsFrom(spec, PruningMask(spec), positions).front();
    std::vector<double> shares = operationsFrom(spec, mask, positions);
    for (double& share : shares)
        share /= dense;
    return shares;
}

} // namespace secateur
