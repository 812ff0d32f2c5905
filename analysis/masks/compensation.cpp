#include "analysis/masks/compensation.h"

#include <algorithm>
#include <cstring>
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

/// Compares bits, because 0 and -0 are equal numbers.
bool areSameBits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool areSameBits(const LayerCompensation& a, const LayerCompensation& b) {
    return areSameBits(a.headScale, b.headScale) && areSameBits(a.neuronScale, b.neuronScale) &&
           areSameBits(a.attentionBias, b.attentionBias) && areSameBits(a.mlpBias, b.mlpBias);
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
    return areSameBits(effect, *compensation) ? compensation : std::make_shared<const LayerCompensation>(std::move(effect));
}

LayerCompensation partOfUnion(const CompensatedPart& a, const CompensatedPart& b) {
    const LayerCompensation ofA = a.fits ? a.compensation : LayerCompensation();
    const LayerCompensation ofB = b.fits ? b.compensation : LayerCompensation();
    if (!ofA.empty() && !ofB.empty() && ofA != ofB)
        return {};
    return ofA.empty() ? ofB : ofA;
}

LayerCompensation partOfIntersection(const CompensatedPart& a, const CompensatedPart& b) {
    if (a.fits && b.fits)
        return a.compensation == b.compensation ? a.compensation : LayerCompensation();
    return a.fits ? a.compensation : b.fits ? b.compensation : LayerCompensation();
}

LayerCompensation partOfSubtraction(const CompensatedPart& from, const CompensatedPart& what) {
    return from.fits && from.compensation != what.compensation ? from.compensation : LayerCompensation();
}

} // namespace secateur
