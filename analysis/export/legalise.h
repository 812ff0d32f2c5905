#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <vector>

namespace secateur {

/// Which heads a mask may be made legal by: more that are cut, some that are kept after all, or both.
enum class LegaliseBy { either, cutting, keeping };

/// A mask that runtimes with one number of query heads per KV group can hold, and what it does otherwise than the mask
/// that was asked for. Of layers that share their weights the first stands for all.
struct LegalMask {
    PruningMask mask;
    std::vector<HeadId> cut;  ///< beside those asked for
    std::vector<HeadId> kept; ///< though they were to be cut
};

/// Whether all KV groups of a layer that keep any of their query heads keep the same number. Layers that have no heads,
/// drop their attention or bypass their queries and keys have no such rule.
bool keepsEqualGroups(const LayerMask& mask, const LayerSpec& spec);

/// The mask whose layers all keep equal groups and which differs from the given one in the fewest heads; of several
/// that do, one that keeps the most heads. Within a group the first of the cut heads are kept, or the last of the kept
/// ones cut.
LegalMask legalised(const PruningMask& mask, const ModelSpec& spec, LegaliseBy by = LegaliseBy::either);

} // namespace secateur
