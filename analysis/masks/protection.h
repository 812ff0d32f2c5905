#pragma once

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Units that cuts must not touch. A protected layer keeps its attention as it is, its MLP, its heads and neurons. A
/// protected head also keeps the attention sublayer and the block that contain it, but not its neighbours. Layers that
/// share their weights are protected together.
struct Protection {
    std::set<int> layers;
    std::set<HeadId> heads;

    /// "none"; "first_last", the first and the last layer; or a list by comma of layers ("0"), ranges of layers
    /// ("0-2"), heads ("3.4", layer and head) and ranges of heads ("5.1-3").
    /// @throws UsageError naming the part that has none of these forms, or that the model does not have
    static Protection parse(std::string_view text, const ModelSpec& spec);
    /// As parse() reads it.
    std::string text(const ModelSpec& spec) const;

    void protectLayer(const ModelSpec& spec, int layer);
    void protectHead(const ModelSpec& spec, const HeadId& head);
    /// Heads that are protected by themselves stay protected.
    void releaseLayer(const ModelSpec& spec, int layer);
    /// In a protected layer, protects the other heads by themselves.
    void releaseHead(const ModelSpec& spec, const HeadId& head);

    bool empty() const { return layers.empty() && heads.empty(); }
    bool has(HeadId head) const { return layers.contains(head.layer) || heads.contains(head); }
    /// Whether the layer or any of its heads is protected: its attention and block cannot be dropped.
    bool touches(int layer) const;
    /// @param index as isCut
    bool covers(const ModelSpec& spec, CutUnit unit, int layer, int index) const;
    /// Restores the protected units of a mask.
    void restore(PruningMask& mask) const;

    bool operator==(const Protection&) const = default;
};

/// A mask with its name in a session.
struct NamedMask {
    std::string name; ///< unique in a session
    std::shared_ptr<const MaskRecord> record;
};

/// The masks of a session and their protection: the state that undo restores. Cheap to copy, masks are shared.
struct MaskState {
    std::vector<NamedMask> masks; ///< at least one
    std::size_t current = 0;      ///< index of the edited one
    std::shared_ptr<const Protection> isProtected = std::make_shared<Protection>();

    const NamedMask& edited() const { return masks.at(current); }
    const PruningMask& mask() const { return edited().record->mask; }
    /// A name that no mask has: the wanted one, or that with a number added.
    std::string freeName(const std::string& wanted) const;
    /// Compares masks by value.
    bool operator==(const MaskState& other) const;
};

} // namespace secateur
