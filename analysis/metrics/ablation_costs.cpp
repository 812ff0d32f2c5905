#include "analysis/metrics/ablation_costs.h"

#include "analysis/masks/price.h"

#include <algorithm>

namespace secateur {

AblationCosts::AblationCosts(const ModelSpec& spec, const PruningMask& mask, std::span<const TokenSequence> sequences)
    : m_spec(spec)
    , m_mask(mask)
    , m_above(spec.layers.size() + 1, 0) {
    for (const TokenSequence& sequence : sequences)
        m_positions = std::max(m_positions, static_cast<int>(sequence.ids.size()));
    for (int layer = spec.layerCount() - 1; layer >= 0; --layer)
        m_above[static_cast<std::size_t>(layer)] =
            m_above[static_cast<std::size_t>(layer) + 1] + layerOperations(spec, layer, mask.layer(layer), m_positions);
}

double AblationCosts::lmHead() const {
    return m_spec.family == Family::decoder ? lmHeadOperations(m_spec) / m_above.front() : 0;
}

double AblationCosts::without(const AblationPart& part) const {
    const auto layer = static_cast<std::size_t>(part.layer);
    if (m_mask.tiedTo(part.layer).size() > 1)
        return m_above[layer] / m_above.front();
    LayerParts mlp = partsLeft(m_spec.layers[layer], part.without);
    mlp.attention = AttentionKind::none;
    const double own = mlp.mlp ? layerOperations(m_spec, part.layer, mlp, m_positions) : 0;
    return (own + m_above[layer + 1]) / m_above.front();
}

} // namespace secateur
