#pragma once

#include "backends/formats/checkpoint.h"

#include <string>

namespace secateur {

/// "sha256:" and 64 lower-case hexadecimal digits, over each tensor in order of its name: the name and a zero byte, the
/// number of dimensions and each of them (int64, little-endian), and a sample of its bytes as the file stores them: all
/// of up to 4096, else 16 pieces of 256 whose starts are spread evenly from the first byte to the last possible one.
std::string fingerprintOf(const Checkpoint& checkpoint);

} // namespace secateur
