#include "analysis/masks/compensation.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Clears a vector whose numbers are all `neutral`. Also turns -0 into 0: they are equal but have different digests.
void simplify(std::vector<float>& values, float neutral) {
    if (std::ranges::all_of(values, [neutral](float value) { return value == neutral; }))
        values.clear();
    for (float& value : values)
        value += 0.F;
}

void ignoreCut(std::vector<float>& factors, const std::vector<bool>& kept) {
    for (std::size_t i = 0; i < factors.size() && i < kept.size(); ++i)
        if (!kept[i])
            factors[i] = 1;
}

} // namespace

std::shared_ptr<const LayerCompensation> joinedCompensation(LayerCompensation attention, LayerCompensation mlp) {
    attention.neuronScale = std::move(mlp.neuronScale);
    attention.mlpBias = std::move(mlp.mlpBias);
    return attention.empty() ? nullptr : std::make_shared<const LayerCompensation>(std::move(attention));
}

std::shared_ptr<const LayerCompensation>
effectOf(const std::shared_ptr<const LayerCompensation>& compensation, const std::vector<bool>& heads,
         const std::vector<bool>& neurons, bool hasAttention, bool hasMlp) {
    if (!compensation)
        return nullptr;
    LayerCompensation effect = *compensation;
    ignoreCut(effect.headScale, heads);
    ignoreCut(effect.neuronScale, neurons);
    if (!hasAttention)
        effect = effect.ofMlp();
    if (!hasMlp)
        effect = effect.ofAttention();
    simplify(effect.headScale, 1);
    simplify(effect.neuronScale, 1);
    simplify(effect.attentionBias, 0);
    simplify(effect.mlpBias, 0);
    if (effect.empty())
        return nullptr;
    return effect == *compensation ? compensation : std::make_shared<const LayerCompensation>(std::move(effect));
}

} // namespace secateur
