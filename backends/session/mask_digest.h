#pragma once

#include "analysis/masks/pruning_mask.h"

#include <string>

namespace secateur {

/// "dense" for a mask that keeps all, else "sha256:" and 64 lower-case hexadecimal digits, over: the architecture and
/// the structure, each ended by a zero byte; and in order, of each layer that is cut: its number, 1 for a dropped block
/// else 0, the attention (0 kept, 1 dropped, 2 bypass_qk), alpha (float64), 1 for a dropped MLP else 0, the number of
/// cut heads and each of them, the number of cut neurons and each of them. Whole numbers are int64; all little-endian.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
