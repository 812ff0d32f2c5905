#pragma once

#include "analysis/masks/pruning_mask.h"

#include <random>

namespace secateur::test {

/// Generates random masks. They cut single heads and neurons, whole sublayers, and whole blocks where the architecture
/// allows it.
class DrawnMasks {
public:
    explicit DrawnMasks(const ModelSpec& spec, unsigned seed = 1)
        : m_spec(spec)
        , m_random(seed) {}

    /// A random mask. @param keep the probability that a head or neuron is kept. Some whole sublayers and blocks are
    /// dropped as well.
    PruningMask next(double keep) {
        PruningMask mask(m_spec);
        for (int index = 0; index < m_spec.layerCount(); ++index) {
            LayerMask layer = mask.layer(index);
            thin(layer.heads, keep);
            thin(layer.neurons, keep);
            if (chance(0.2))
                layer.attention = AttentionCut::drop;
            else if (chance(0.1) && !layer.heads.empty())
                bypass(layer);
            layer.mlp = !chance(0.2);
            layer.block = m_spec.normPlace == NormPlace::after || !chance(0.15);
            mask.setLayer(index, layer);
        }
        return mask;
    }

private:
    bool chance(double share) { return std::bernoulli_distribution(share)(m_random); }
    void thin(std::vector<bool>& kept, double keep) {
        for (std::size_t i = 0; i < kept.size(); ++i)
            kept[i] = chance(keep);
    }
    /// A bypass with alpha = 0, which is equivalent to dropping the attention.
    static void bypass(LayerMask& layer) {
        layer.attention = AttentionCut::bypassQk;
        layer.alpha = 0;
    }

    const ModelSpec& m_spec;
    std::mt19937 m_random;
};

} // namespace secateur::test
