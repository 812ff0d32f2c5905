#pragma once

#include "backends/formats/quants.h"

#include <cstddef>
#include <span>

namespace secateur {

bool canEncode(const StorageType& type);
void encodeRow(const StorageType& type, std::span<const float> numbers, std::span<std::byte> target);

} // namespace secateur
