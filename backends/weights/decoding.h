#pragma once

#include "backends/formats/checkpoint.h"
#include "backends/weights/block_layouts.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Decodes consecutive numbers of a tensor to float32, on the calling thread. @param begin index of the first number in
/// row-major order
void decode(const TensorEntry& entry, std::int64_t begin, std::span<float> target);

/// Like decode(), for a part of quantised blocks. @param part for other types, BlockPart::values
void decodePart(const TensorEntry& entry, BlockPart part, std::int64_t begin, std::span<float> target);

/// 16-bit symbols of stored numbers (NumberGrid::readSymbols); 0 parts for types that cannot be decoded.
int symbolParts(const StorageType& type);
int symbolKinds(const StorageType& type);                  ///< NumberGrid::symbolKinds
std::vector<float> symbolNumbers(const StorageType& type); ///< NumberGrid::symbolNumbers
void decodeSymbols(const TensorEntry& entry, std::int64_t begin, int part, std::span<std::uint16_t> target);

} // namespace secateur
