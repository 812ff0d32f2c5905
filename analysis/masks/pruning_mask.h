#pragma once

#include "analysis/model/model_spec.h"

#include <string>
#include <vector>

namespace secateur {

/// What is left of a layer's attention besides its heads. `drop`: it adds nothing to the stream, not even its bias.
/// `bypassQk`: each token attends to itself alone, and the sublayer is scaled by alpha (HARP, methods.md 7).
enum class AttentionCut { keep, drop, bypassQk };

/// What is kept of one layer.
struct LayerMask {
    std::vector<bool> heads;   ///< [heads] true = kept
    std::vector<bool> neurons; ///< [ffn] true = kept
    AttentionCut attention = AttentionCut::keep;
    double alpha = 1;  ///< of bypassQk only, else 1
    bool mlp = true;   ///< true = kept
    bool block = true; ///< true = kept

    int keptHeads() const;   ///< 0 where the attention or the block is dropped
    int keptNeurons() const; ///< 0 where the MLP or the block is dropped
    bool keepsAll() const;
    bool operator==(const LayerMask&) const = default;
};

/// What is kept of a model. Made for one structure, which it must fit; applied to a layer it cuts nothing that is not
/// cut in it: a mask that keeps all is no mask.
class PruningMask {
public:
    PruningMask() = default;
    /// Keeps all.
    explicit PruningMask(const ModelSpec& spec);

    const std::string& architecture() const { return m_architecture; }
    /// ModelSpec::structure() of the model it was made for.
    const std::string& structure() const { return m_structure; }
    /// Groups of layers that share their weights (ModelSpec::tiedGroups): a cut in one is a cut in all.
    const std::vector<std::vector<int>>& tiedGroups() const { return m_tiedGroups; }

    int layerCount() const { return static_cast<int>(m_layers.size()); }
    const LayerMask& layer(int index) const { return m_layers.at(static_cast<std::size_t>(index)); }
    /// The layers that share a layer's weights, in order; itself alone in most models.
    std::vector<int> tiedTo(int index) const;
    /// Replaces one layer, and all that share its weights. What lies inside a dropped part is marked as kept, and alpha
    /// is 1 without bypassQk, so that equal cuts are equal masks. @throws Error when its counts are not the layer's,
    /// alpha is outside [0, 2], or bypassQk is asked of a layer without heads
    void setLayer(int index, LayerMask layer);

    bool keepsAll() const;
    /// @throws Error naming both structures when they differ
    void checkFits(const ModelSpec& spec) const;
    bool operator==(const PruningMask&) const = default;

private:
    std::string m_architecture;
    std::string m_structure;
    std::vector<std::vector<int>> m_tiedGroups;
    std::vector<LayerMask> m_layers;
};

/// The most that bypassQk may scale by; the least is 0.
inline constexpr double mostAlpha = 2;

/// @throws Error naming both structures when a mask made for one model is none for another
void checkMaskFits(const std::string& architecture, const std::string& structure, const ModelSpec& spec);

} // namespace secateur
