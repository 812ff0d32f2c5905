#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace secateur {

/// Changes of a layer's kept weights that make up for its cuts. An empty vector changes nothing. Factors and biases are
/// those of the whole layer, including its cut units, so that they do not depend on the cuts.
struct LayerCompensation {
    std::vector<float> headScale;     ///< [heads] factors of the heads' columns of the output projection
    std::vector<float> neuronScale;   ///< [ffn] factors of the neurons' columns of the down projection
    /// [hidden] Added to the output of the output projection, before any norm after it. The alpha of a bypass does not
    /// multiply it, unless a norm follows: then alpha multiplies the output of the norm.
    std::vector<float> attentionBias;
    std::vector<float> mlpBias; ///< [hidden] added to the output of the down projection, before any norm after it

    bool empty() const {
        return headScale.empty() && neuronScale.empty() && attentionBias.empty() && mlpBias.empty();
    }
    LayerCompensation ofAttention() const { return {headScale, {}, attentionBias, {}}; }
    LayerCompensation ofMlp() const { return {{}, neuronScale, {}, mlpBias}; }
    bool operator==(const LayerCompensation&) const = default;
};

/// The compensation of both sublayers together; null if it changes nothing. @param attention, mlp as returned by
/// ofAttention() and ofMlp()
std::shared_ptr<const LayerCompensation> joinedCompensation(LayerCompensation attention, LayerCompensation mlp);

/// The compensation of a layer without the parts that have no effect: factors of cut units become 1, vectors of factors
/// 1 and of biases 0 become empty. Null if nothing is left. @param compensation may be null
/// @param heads, neurons marks of the kept units
std::shared_ptr<const LayerCompensation>
effectOf(const std::shared_ptr<const LayerCompensation>& compensation, const std::vector<bool>& heads,
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
