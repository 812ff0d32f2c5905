#pragma once

#include "analysis/masks/pruning_mask.h"

#include <string>

namespace secateur {

/// "dense" for a mask that keeps all, else "sha256:" and 64 lower-case hexadecimal digits. Input: architecture and
/// structure, each followed by a zero byte; then, for each layer with cuts, in order: its number, 1 for a dropped block
/// else 0, the attention (0 kept, 1 dropped, 2 bypass_qk), alpha (float64), 1 for a dropped MLP else 0, the number of
/// cut heads and each of them, the number of cut neurons and each of them. Integers are int64; all little-endian.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
