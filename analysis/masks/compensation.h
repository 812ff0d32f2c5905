#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace secateur {

/// Numbers of a weight, which masks share. Null = the weight of the model.
using SharedWeight = std::shared_ptr<const std::vector<float>>;

/// Whether two weights have the same numbers. Bits are compared, because 0 and -0 are equal but have different digests.
bool haveEqualNumbers(const SharedWeight& a, const SharedWeight& b);

/// Changes of a layer's kept weights that make up for its cuts. An empty vector changes nothing. Factors, biases and
/// weights are those of the whole layer, including its cut units, so that they do not depend on the cuts. A projection
/// has either factors or a weight of its own.
struct LayerCompensation {
    std::vector<float> headScale;   ///< [heads] factors of the heads' columns of the output projection
    std::vector<float> neuronScale; ///< [ffn] factors of the neurons' columns of the down projection
    /// [hidden] Added to the output of the output projection, before any norm after it. The alpha of a bypass does not
    /// multiply it, unless a norm follows: then alpha multiplies the output of the norm.
    std::vector<float> attentionBias;
    std::vector<float> mlpBias; ///< [hidden] added to the output of the down projection, before any norm after it
    /// [hidden, heads * headDim], row after row; replaces the output projection. The columns of cut heads are 0. The
    /// alpha of a bypass multiplies it. Under linear attention [hidden, hidden].
    SharedWeight outputWeight = {};
    /// [hidden, ffn], row after row; replaces the down projection. The columns of cut neurons are 0.
    SharedWeight downWeight = {};

    bool empty() const {
        return headScale.empty() && neuronScale.empty() && attentionBias.empty() && mlpBias.empty() && !outputWeight &&
               !downWeight;
    }
    LayerCompensation ofAttention() const { return {headScale, {}, attentionBias, {}, outputWeight, {}}; }
    LayerCompensation ofMlp() const { return {{}, neuronScale, {}, mlpBias, {}, downWeight}; }
    bool operator==(const LayerCompensation& other) const;
};

/// The compensation of both sublayers together; null if it changes nothing. @param attention, mlp as returned by
/// ofAttention() and ofMlp()
std::shared_ptr<const LayerCompensation> joinedCompensation(LayerCompensation attention, LayerCompensation mlp);

/// The compensation of a layer without the parts that have no effect: factors of cut units become 1, vectors of factors
/// 1 and of biases 0 become empty. Columns of cut units become 0, and the weight of a sublayer without units becomes
/// null. Null if nothing is left. @param compensation may be null @param heads, neurons marks of the kept units
/// @param headDim columns of a head in the output projection
std::shared_ptr<const LayerCompensation> effectOf(const std::shared_ptr<const LayerCompensation>& compensation,
                                                  const std::vector<bool>& heads, int headDim,
                                                  const std::vector<bool>& neurons, bool hasAttention, bool hasMlp);

/// The compensation of a sublayer in one of two masks that are combined, and whether the result has the same cuts.
struct CompensatedPart {
    LayerCompensation compensation;
    bool fits;
};

/// That of the mask whose cuts the union has; if both have them, that of the only one that has a compensation.
LayerCompensation partOfUnion(const CompensatedPart& a, const CompensatedPart& b);
/// That of the mask whose cuts the intersection has; if both have them, only what both compensate alike.
LayerCompensation partOfIntersection(const CompensatedPart& a, const CompensatedPart& b);
/// That of `from` if the difference has its cuts and `what` does not compensate them alike.
LayerCompensation partOfSubtraction(const CompensatedPart& from, const CompensatedPart& what);

} // namespace secateur
