#pragma once

#include "analysis/model/model_spec.h"

#include <string>
#include <vector>

namespace secateur {

/// Cuts of a layer's attention as a whole. `drop`: attention adds nothing to the residual stream, not even its bias.
/// `bypassQk`: each token attends to itself only, and the sublayer's output is multiplied by alpha
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

    int keptHeads() const;   ///< 0 where the attention or the block is dropped
    int keptNeurons() const; ///< 0 where the MLP or the block is dropped
    bool keepsAll() const;
    bool operator==(const LayerMask&) const = default;
};

/// Whether a layer's attention adds nothing to the residual stream: it or its block is dropped, or alpha is 0.
inline bool dropsAttention(const LayerMask& mask) {
    const bool isScaledAway = mask.attention == AttentionCut::bypassQk && mask.alpha == 0;
    return !mask.block || mask.attention == AttentionCut::drop || isScaledAway;
}

/// Whether a layer's MLP adds nothing to the residual stream: it or its block is dropped.
inline bool dropsMlp(const LayerMask& mask) {
    return !mask.block || !mask.mlp;
}

/// The mask of a model: its kept units. Fits models of one structure only. A mask that keeps all stands for the dense
/// model.
class PruningMask {
public:
    PruningMask() = default;
    /// Keeps all.
    explicit PruningMask(const ModelSpec& spec);

    const std::string& architecture() const { return m_architecture; }
    /// ModelSpec::structure() of the model it was made for.
    const std::string& structure() const { return m_structure; }
    /// Groups of layers that share their weights (ModelSpec::tiedGroups()): a cut in one layer applies to its group.
    const std::vector<std::vector<int>>& tiedGroups() const { return m_tiedGroups; }

    int layerCount() const { return static_cast<int>(m_layers.size()); }
    const LayerMask& layer(int index) const { return m_layers.at(static_cast<std::size_t>(index)); }
    /// The layers that share a layer's weights, in order; itself alone in most models.
    std::vector<int> tiedTo(int index) const;
    /// Replaces the mask of one layer, and of all layers that share its weights. Marks units inside a dropped part as
    /// kept, and sets alpha to 1 without bypassQk, so that masks with equal effects compare equal.
    /// @throws Error if the numbers of heads or neurons are not the layer's, alpha is outside [0, 2], or a layer
    /// without heads is bypassed
    void setLayer(int index, LayerMask layer);

    bool keepsAll() const;
    /// @throws Error naming both structures if they differ
    void checkFits(const ModelSpec& spec) const;
    bool operator==(const PruningMask&) const = default;

private:
    std::string m_architecture;
    std::string m_structure;
    std::vector<std::vector<int>> m_tiedGroups;
    std::vector<LayerMask> m_layers;
};

/// Largest alpha of bypassQk; the smallest is 0.
inline constexpr double mostAlpha = 2;

/// @throws Error naming both structures when a mask was made for another structure
void checkMaskFits(const std::string& architecture, const std::string& structure, const ModelSpec& spec);

} // namespace secateur
