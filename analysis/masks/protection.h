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

/// The units that must not be cut. In a protected layer nothing is cut, dropped or bypassed. A protected head also
/// protects its attention sublayer from being dropped or bypassed, and its block from being dropped. Other heads of the
/// layer can still be cut. Layers that share their weights are protected together.
struct Protection {
    std::set<int> layers;
    std::set<HeadId> heads;

    /// Parses a text: "none"; "first_last" (the first and the last layer); or a list, separated by commas, of layers
    /// ("0"), ranges of layers ("0-2"), heads ("3.4" = layer 3, head 4) and ranges of heads ("5.1-3").
    /// @throws UsageError naming an element of the list that has none of these forms or is not in the model
    static Protection parse(std::string_view text, const ModelSpec& spec);
    /// The protection as text that parse() reads.
    std::string text(const ModelSpec& spec) const;

    void protectLayer(const ModelSpec& spec, int layer);
    void protectHead(const ModelSpec& spec, const HeadId& head);
    /// Ends the protection of a layer. Heads that are listed in `heads` stay protected.
    void releaseLayer(const ModelSpec& spec, int layer);
    /// Ends the protection of a head. If its layer is protected, the other heads of the layer are protected one by one
    /// instead.
    void releaseHead(const ModelSpec& spec, const HeadId& head);

    bool empty() const { return layers.empty() && heads.empty(); }
    bool has(HeadId head) const { return layers.contains(head.layer) || heads.contains(head); }
    /// Whether the layer or any of its heads is protected. Its attention can then be neither dropped nor bypassed, and
    /// its block cannot be dropped.
    bool touches(int layer) const;
    /// Whether a unit must not be cut. @param index as for isCut()
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

/// The masks of a session and the protected units, which undo restores. Copies are cheap, because they share the masks.
struct MaskState {
    std::vector<NamedMask> masks; ///< at least one
    std::size_t current = 0;      ///< index of the mask that is edited
    std::shared_ptr<const Protection> isProtected = std::make_shared<Protection>();

    const NamedMask& edited() const { return masks.at(current); }
    const PruningMask& mask() const { return edited().record->mask; }
    /// The name `wanted`; if another mask has it, with a number added.
    std::string freeName(const std::string& wanted) const;
    /// Compares masks by value.
    bool operator==(const MaskState& other) const;
};

} // namespace secateur
