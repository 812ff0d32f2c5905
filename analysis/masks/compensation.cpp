#include "analysis/masks/compensation.h"

#include <algorithm>
#include <cmath>
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
           areSameBits(a.attentionBias, b.attentionBias) && areSameBits(a.mlpBias, b.mlpBias) &&
           haveEqualNumbers(a.outputWeight, b.outputWeight) && haveEqualNumbers(a.downWeight, b.downWeight);
}

void ignoreCut(std::vector<float>& factors, const std::vector<bool>& kept) {
    for (std::size_t i = 0; i < factors.size() && i < kept.size(); ++i)
        if (!kept[i])
            factors[i] = 1;
}

/// Calls `visit` with the first number of each run of `width` numbers that belongs to a cut unit, in all rows.
template <typename Weight, typename Visit>
void eachCutRun(Weight& weight, const std::vector<bool>& kept, std::size_t width, Visit visit) {
    const std::size_t columns = kept.size() * width;
    for (std::size_t row = 0; row + columns <= weight.size(); row += columns)
        for (std::size_t unit = 0; unit < kept.size(); ++unit)
            if (!kept[unit])
                visit(weight.begin() + static_cast<std::ptrdiff_t>(row + unit * width));
}

bool isPositiveZero(float value) {
    return value == 0 && !std::signbit(value);
}

/// Sets the columns of cut units to 0. Copies the weight only if one of them is not 0. Null if no unit is kept.
/// @param kept empty = the weight has no units @param width columns of a unit
SharedWeight withoutCut(const SharedWeight& weight, const std::vector<bool>& kept, int width) {
    if (!weight || kept.empty() || width <= 0)
        return weight;
    if (std::ranges::find(kept, true) == kept.end())
        return nullptr;
    const auto count = static_cast<std::size_t>(width);
    bool hasNumbers = false;
    eachCutRun(*weight, kept, count,
               [&](auto begin) { hasNumbers = hasNumbers || !std::all_of(begin, begin + width, isPositiveZero); });
    if (!hasNumbers)
        return weight;
    auto copy = std::make_shared<std::vector<float>>(*weight);
    eachCutRun(*copy, kept, count, [&](auto begin) { std::fill_n(begin, width, 0.F); });
    return copy;
}

} // namespace

bool haveEqualNumbers(const SharedWeight& a, const SharedWeight& b) {
    return a == b || (a && b && areSameBits(*a, *b));
}

bool LayerCompensation::operator==(const LayerCompensation& other) const {
    return headScale == other.headScale && neuronScale == other.neuronScale && attentionBias == other.attentionBias &&
           mlpBias == other.mlpBias && haveEqualNumbers(outputWeight, other.outputWeight) &&
           haveEqualNumbers(downWeight, other.downWeight);
}

std::shared_ptr<const LayerCompensation> joinedCompensation(LayerCompensation attention, LayerCompensation mlp) {
    attention.neuronScale = std::move(mlp.neuronScale);
    attention.mlpBias = std::move(mlp.mlpBias);
    attention.downWeight = std::move(mlp.downWeight);
    return attention.empty() ? nullptr : std::make_shared<const LayerCompensation>(std::move(attention));
}

std::shared_ptr<const LayerCompensation> effectOf(const std::shared_ptr<const LayerCompensation>& compensation,
                                                  const std::vector<bool>& heads, int headDim,
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
    effect.outputWeight = withoutCut(effect.outputWeight, heads, headDim);
    effect.downWeight = withoutCut(effect.downWeight, neurons, 1);
    simplify(effect.headScale, 1);
    simplify(effect.neuronScale, 1);
    simplify(effect.attentionBias, 0);
    simplify(effect.mlpBias, 0);
    if (effect.empty())
        return nullptr;
    return areSameBits(effect, *compensation) ? compensation
                                              : std::make_shared<const LayerCompensation>(std::move(effect));
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
