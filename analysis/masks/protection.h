#pragma once

#include "analysis/masks/mask_algebra.h"

#include <set>
#include <string>
#include <string_view>

namespace secateur {

/// What cuts must not touch. A protected layer keeps its attention as it is, its MLP, its heads and neurons; a
/// protected head also keeps the attention and the block that it lies in, but not its neighbours. Layers that share
/// their weights are protected together.
struct Protection {
    std::set<int> layers;
    std::set<HeadId> heads;

    /// "none"; "first_last", the first and the last layer; or a list by comma of layers ("0"), ranges of layers
    /// ("0-2"), heads ("3.4", layer and head) and ranges of heads ("5.1-3").
    /// @throws UsageError naming the part that is none of these, or that the model does not have
    static Protection parse(std::string_view text, const ModelSpec& spec);
    /// As parse() reads it.
    std::string text(const ModelSpec& spec) const;

    void protectLayer(const ModelSpec& spec, int layer);
    void protectHead(const ModelSpec& spec, const HeadId& head);
    /// Heads that are protected one by one stay so.
    void releaseLayer(const ModelSpec& spec, int layer);
    /// Of a protected layer the other heads stay protected, one by one.
    void releaseHead(const ModelSpec& spec, const HeadId& head);

    bool empty() const { return layers.empty() && heads.empty(); }
    bool has(HeadId head) const { return layers.contains(head.layer) || heads.contains(head); }
    /// Whether a part of the layer that a whole sublayer would take along is protected.
    bool touches(int layer) const;
    /// @param index as isCut
    bool covers(const ModelSpec& spec, CutUnit unit, int layer, int index) const;
    /// Brings back what of a mask is protected.
    void restore(PruningMask& mask) const;

    bool operator==(const Protection&) const = default;
};

} // namespace secateur
