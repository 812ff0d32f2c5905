#pragma once

#include "analysis/masks/compensation.h"
#include "analysis/model/model_spec.h"

#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// Cuts of the attention of a layer as a whole. `drop`: attention adds nothing to the residual stream, not even its
/// bias. `bypassQk`: each token attends to itself only, and the output of the sublayer is multiplied by alpha
/// (resources/manual/strategies.md, Bypass of queries and keys).
enum class AttentionCut { keep, drop, bypassQk };

/// The mask of one layer.
struct LayerMask {
    std::vector<bool> heads;   ///< [heads] true = kept
    std::vector<bool> neurons; ///< [ffn] true = kept
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1;  ///< factor of bypassQk; 1 otherwise
    bool mlp = true;   ///< true = kept
    bool block = true; ///< true = kept
    /// Compensation of the layer's cuts; null = none. Copies share it.
    std::shared_ptr<const LayerCompensation> compensation = {};

    int keptHeads() const;   ///< 0 if the attention or the block is dropped
    int keptNeurons() const; ///< 0 if the MLP or the block is dropped
    bool hasCuts() const;    ///< whether any unit is cut or the attention is bypassed
    bool keepsAll() const;   ///< whether the layer runs as in the dense model: it has neither cuts nor compensation
    bool operator==(const LayerMask& other) const;
};

/// The compensation of a layer; empty vectors if it has none.
const LayerCompensation& compensationOf(const LayerMask& mask);
/// Whether two masks of a layer have equal attention: its cuts, its compensation and whether the block is kept.
bool haveEqualAttention(const LayerMask& a, const LayerMask& b);
/// Whether two masks of a layer have equal MLPs: their cuts, their compensation and whether the block is kept.
bool haveEqualMlp(const LayerMask& a, const LayerMask& b);

/// Whether the attention of a layer adds nothing to the residual stream: it is dropped, its block is dropped, or alpha
/// is 0.
inline bool dropsAttention(const LayerMask& mask) {
    const bool isScaledAway = mask.attention == AttentionCut::bypassQk && mask.alpha == 0;
    return !mask.block || mask.attention == AttentionCut::drop || isScaledAway;
}

/// Whether the MLP of a layer adds nothing to the residual stream: it is dropped, or its block is dropped.
inline bool dropsMlp(const LayerMask& mask) {
    return !mask.block || !mask.mlp;
}

/// The units of a model that are kept and cut. It fits models of one structure. A mask that cuts nothing stands for the
/// dense model.
class PruningMask {
public:
    PruningMask() = default;
    /// A mask that cuts nothing.
    explicit PruningMask(const ModelSpec& spec);

    const std::string& architecture() const { return m_architecture; }
    /// The structure of the model that the mask was made for (ModelSpec::structure()).
    const std::string& structure() const { return m_structure; }
    /// Groups of layers that share their weights (ModelSpec::tiedGroups()): a cut in one layer applies to its group.
    const std::vector<std::vector<int>>& tiedGroups() const { return m_tiedGroups; }

    int layerCount() const { return static_cast<int>(m_layers.size()); }
    const LayerMask& layer(int index) const { return m_layers.at(static_cast<std::size_t>(index)); }
    /// The layers that share the weights of a layer, in order. In most models only the layer itself.
    std::vector<int> tiedTo(int index) const;
    /// Replaces the mask of a layer, and of all layers that share its weights. Marks units in a dropped sublayer or
    /// block as kept, sets alpha to 1 without bypassQk, and removes parts of the compensation that have no effect, such
    /// as those of a dropped sublayer. Masks with the same effect are then equal.
    /// @throws Error if the number of heads or neurons is not that of the layer, alpha is outside [0, 2], a layer
    /// without heads is bypassed, or the compensation has another number of factors, weights with other columns, or
    /// numbers that are not finite
    void setLayer(int index, LayerMask layer);

    bool keepsAll() const;
    bool isCompensated() const; ///< whether any layer has a compensation
    /// Checks that the mask fits a model. @throws Error naming both structures if they differ; Error naming the layer
    /// if a compensation has biases or weights of another size than the residual stream, both factors and a weight of
    /// one projection, or belongs to a sublayer that the model does not have
    void checkFits(const ModelSpec& spec) const;
    bool operator==(const PruningMask&) const = default;

private:
    std::string m_architecture;
    std::string m_structure;
    std::vector<std::vector<int>> m_tiedGroups;
    std::vector<int> m_headDims; ///< head size of each layer, as in the structure; 0 under linear attention
    std::vector<LayerMask> m_layers;
};

/// Largest alpha of bypassQk; the smallest is 0.
inline constexpr double mostAlpha = 2;

/// Checks that a mask fits a model. @throws Error naming both structures if they differ
void checkMaskFits(const std::string& architecture, const std::string& structure, const ModelSpec& spec);

} // namespace secateur
