#pragma once

#include "analysis/base/wire.h"
#include "analysis/masks/pruning_mask.h"

#include <vector>

namespace secateur {

/// A mask as its layers. It must fit the model of the reader.
template <>
struct Wire<PruningMask> {
    static void write(WireWriter& writer, const PruningMask& mask);
    static PruningMask read(WireReader& reader);
};

} // namespace secateur
