#pragma once

#include "analysis/model_spec.h"

#include <cstdint>
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

    int keptHeads() const;
    int keptNeurons() const;
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
    /// Replaces one layer, and all that share its weights. @throws Error when its counts are not the layer's, or alpha
    /// is outside [0, 2]
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

/// The most and least that bypassQk may scale by.
inline constexpr double mostAlpha = 2;

} // namespace secateur
