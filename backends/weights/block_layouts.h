#pragma once

#include "backends/formats/quants.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Bytes of a block that are overwritten with one value.
struct BlockPatch {
    int offset = 0;
    int bytes = 0;
    std::uint8_t value = 0;
};

/// Where a quantised type has its scales and codes. They are read by unpacking a block in which the other part was
/// overwritten: with all scales 1 the numbers are the codes; with all codes 1 they are the scales. So one function
/// (StorageType::unpack) knows the layout of the codes.
struct BlockLayout {
    std::string_view type;
    int scaleElements;                      ///< numbers that share one scale
    std::span<const BlockPatch> unitScales; ///< makes all scales 1 and all minima 0
    std::span<const BlockPatch> unitCodes;  ///< makes all codes 1
    std::span<const BlockPatch> zeroMinima; ///< empty = the type has no minima
    std::span<const BlockPatch> zeroCodes;  ///< empty = the type has no minima
};

/// The layout of a quantised type; nullptr for other types, and those that cannot be decoded.
const BlockLayout* blockLayout(const StorageType& type);

/// Which part of blocks is unpacked.
enum class BlockPart { values, codes, scales, minima };

/// Unpacks a part of whole blocks: `blocks * type.elements` numbers; each scale and minimum once for each number that
/// it belongs to.
void unpackPart(const StorageType& type, BlockPart part, const std::byte* source, std::int64_t blocks, float* target);

} // namespace secateur
