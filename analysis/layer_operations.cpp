#include "analysis/layer_operations.h"

#include <algorithm>

namespace secateur {

namespace {

/// KV groups of which a head is kept.
int keptGroups(const LayerSpec& layer, const LayerMask& mask) {
    std::vector<bool> groups(static_cast<std::size_t>(layer.kvHeads));
    for (int head = 0; head < layer.heads; ++head)
        if (mask.heads[static_cast<std::size_t>(head)])
            groups[static_cast<std::size_t>(layer.kvGroup(head))] = true;
    return static_cast<int>(std::ranges::count(groups, true));
}

double attentionOperations(const ModelSpec& spec, const LayerSpec& layer, const LayerMask& mask, int positions) {
    if (mask.attention == AttentionCut::drop || layer.attention == AttentionKind::none)
        return 0;
    const double hidden = spec.hidden;
    if (layer.attention == AttentionKind::linear)
        return 2 * hidden * hidden;
    const double heads = 1.0 * mask.keptHeads() * layer.headDim;
    const double groups = 1.0 * keptGroups(layer, mask) * layer.headDim;
    if (layer.attention == AttentionKind::valueOnly || mask.attention == AttentionCut::bypassQk)
        return 2 * hidden * (groups + heads);
    // A token sees half of the positions before and behind it, itself included, or what a window shows of them.
    const double length = positions;
    const double window = layer.window > 0 ? std::min<double>(layer.window, length) : length;
    const double visible = window - window * (window - 1) / (2 * length);
    return 2 * hidden * (2 * heads + 2 * groups) + 4 * heads * visible;
}

/// From each layer on, and behind the last.
std::vector<double> operationsFrom(const ModelSpec& spec, const PruningMask& mask, int positions) {
    std::vector<double> sums{readOutOperations(spec)};
    for (int layer = spec.layerCount() - 1; layer >= 0; --layer)
        sums.push_back(sums.back() + layerOperations(spec, layer, mask.layer(layer), positions));
    std::ranges::reverse(sums);
    return sums;
}

} // namespace

double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions) {
    if (!mask.block)
        return 0;
    const LayerSpec& own = spec.layers.at(static_cast<std::size_t>(layer));
    const double mlp = (spec.gatedMlp ? 6.0 : 4.0) * spec.hidden * mask.keptNeurons();
    return mlp + attentionOperations(spec, own, mask, positions);
}

double readOutOperations(const ModelSpec& spec) {
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
