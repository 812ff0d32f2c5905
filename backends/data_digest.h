#pragma once

#include "analysis/sequences.h"

#include <string>

namespace secateur {

/// "sha256:" and 64 lower-case hexadecimal digits, over the number of sequences, and of each its length and its ids,
/// all as int64, little-endian.
std::string dataDigest(const SequenceSet& set);

} // namespace secateur
