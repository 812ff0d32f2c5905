#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// A mask with the name it goes by in a session.
struct NamedMask {
    std::string name; ///< no two of a session are the same
    std::shared_ptr<const MaskRecord> record;
};

/// All that a person does to masks: what undo goes back to. Cheap to copy, masks are shared.
struct MaskState {
    std::vector<NamedMask> masks; ///< one at least
    std::size_t current = 0;      ///< the one that is edited
    std::shared_ptr<const Protection> isProtected = std::make_shared<Protection>();

    const NamedMask& edited() const { return masks.at(current); }
    const PruningMask& mask() const { return edited().record->mask; }
    /// A name that no mask has: the one wanted, or with a number behind it.
    std::string freeName(const std::string& wanted) const;
    /// Whether both stand for the same, value by value.
    bool operator==(const MaskState& other) const;
};

} // namespace secateur
