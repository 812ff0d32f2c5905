#include "backends/weights/block_layouts.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace secateur {

namespace {

// The layouts are described in backends/formats/quants.cpp. 0x3c00 is 1 in float16, low byte first.

template <int offset>
constexpr std::array<BlockPatch, 2> unitHalf{BlockPatch{offset, 1, 0x00}, BlockPatch{offset + 1, 1, 0x3C}};

constexpr std::array patchesQ4_0{BlockPatch{2, 16, 0x99}};
constexpr std::array patchesQ4_1{BlockPatch{4, 16, 0x11}, BlockPatch{4, 16, 0}};
constexpr std::array unitQ4_1{BlockPatch{0, 1, 0x00}, BlockPatch{1, 1, 0x3C}, BlockPatch{2, 2, 0}};
constexpr std::array patchesQ5_0{BlockPatch{2, 4, 0xFF}, BlockPatch{6, 16, 0x11}};
constexpr std::array patchesQ5_1{BlockPatch{4, 4, 0}, BlockPatch{8, 16, 0x11}};
constexpr std::array zeroQ5_1{BlockPatch{4, 20, 0}};
constexpr std::array patchesQ8_0{BlockPatch{2, 32, 1}};
constexpr std::array secondHalfZero{BlockPatch{2, 2, 0}};
constexpr std::array unitQ2_K{BlockPatch{0, 16, 0x01}, BlockPatch{80, 1, 0x00}, BlockPatch{81, 1, 0x3C}};
constexpr std::array codesQ2_K{BlockPatch{16, 64, 0x55}};
constexpr std::array minimaQ2_K{BlockPatch{82, 2, 0}};
constexpr std::array zeroQ2_K{BlockPatch{16, 64, 0}};
// A scale of six bits minus 32: low nibble 1, upper bits 2.
constexpr std::array unitQ3_K{BlockPatch{96, 8, 0x11}, BlockPatch{104, 4, 0xAA}, BlockPatch{108, 1, 0x00},
                              BlockPatch{109, 1, 0x3C}};
constexpr std::array codesQ3_K{BlockPatch{0, 32, 0xFF}, BlockPatch{32, 64, 0x55}};
constexpr std::array unitQ45_K{BlockPatch{0, 1, 0x00}, BlockPatch{1, 1, 0x3C}, BlockPatch{2, 2, 0},
                               BlockPatch{4, 4, 0x01}, BlockPatch{8, 4, 0},    BlockPatch{12, 4, 0x01}};
constexpr std::array codesQ4_K{BlockPatch{16, 128, 0x11}};
constexpr std::array zeroQ4_K{BlockPatch{16, 128, 0}};
constexpr std::array codesQ5_K{BlockPatch{16, 32, 0}, BlockPatch{48, 128, 0x11}};
constexpr std::array zeroQ5_K{BlockPatch{16, 160, 0}};
constexpr std::array unitQ6_K{BlockPatch{192, 16, 0x01}, BlockPatch{208, 1, 0x00}, BlockPatch{209, 1, 0x3C}};
constexpr std::array codesQ6_K{BlockPatch{0, 128, 0x11}, BlockPatch{128, 64, 0xAA}};
constexpr std::array codesIQ4_NL{BlockPatch{2, 16, 0x88}}; // the ninth of the uneven steps is 1
constexpr std::array unitIQ4_XS{BlockPatch{0, 1, 0x00}, BlockPatch{1, 1, 0x3C}, BlockPatch{2, 2, 0xAA},
                                BlockPatch{4, 4, 0x11}};
constexpr std::array codesIQ4_XS{BlockPatch{8, 128, 0x88}};
constexpr std::span<const BlockPatch> noPatches;

const std::array layouts{
    BlockLayout{"Q4_0", 32, unitHalf<0>, patchesQ4_0, noPatches, noPatches},
    BlockLayout{"Q4_1", 32, unitQ4_1, std::span(patchesQ4_1).first(1), secondHalfZero,
                std::span(patchesQ4_1).subspan(1)},
    BlockLayout{"Q5_0", 32, unitHalf<0>, patchesQ5_0, noPatches, noPatches},
    BlockLayout{"Q5_1", 32, unitQ4_1, patchesQ5_1, secondHalfZero, zeroQ5_1},
    BlockLayout{"Q8_0", 32, unitHalf<0>, patchesQ8_0, noPatches, noPatches},
    BlockLayout{"Q2_K", 16, unitQ2_K, codesQ2_K, minimaQ2_K, zeroQ2_K},
    BlockLayout{"Q3_K", 16, unitQ3_K, codesQ3_K, noPatches, noPatches},
    BlockLayout{"Q4_K", 32, unitQ45_K, codesQ4_K, secondHalfZero, zeroQ4_K},
    BlockLayout{"Q5_K", 32, unitQ45_K, codesQ5_K, secondHalfZero, zeroQ5_K},
    BlockLayout{"Q6_K", 16, unitQ6_K, codesQ6_K, noPatches, noPatches},
    BlockLayout{"IQ4_NL", 32, unitHalf<0>, codesIQ4_NL, noPatches, noPatches},
    BlockLayout{"IQ4_XS", 32, unitIQ4_XS, codesIQ4_XS, noPatches, noPatches},
};

void patch(std::byte* block, std::span<const BlockPatch> patches) {
    for (const BlockPatch& part : patches)
        std::memset(block + part.offset, part.value, static_cast<std::size_t>(part.bytes));
}

} // namespace

const BlockLayout* blockLayout(const StorageType& type) {
    if (type.reading != StorageType::Reading::dequantised)
        return nullptr;
    const auto* const found = std::ranges::find(layouts, type.name, &BlockLayout::type);
    return found == layouts.end() ? nullptr : &*found;
}

void unpackPart(const StorageType& type, BlockPart part, const std::byte* source, std::int64_t blocks, float* target) {
    if (part == BlockPart::values)
        return type.unpack(source, blocks, target);
    const BlockLayout& layout = *blockLayout(type);
    constexpr std::int64_t blocksAtOnce = 16;
    constexpr std::size_t mostBytes = 256; // of a block
    std::array<std::byte, static_cast<std::size_t>(blocksAtOnce) * mostBytes> copies;
    for (std::int64_t done = 0; done < blocks; done += blocksAtOnce) {
        const std::int64_t count = std::min(blocksAtOnce, blocks - done);
        std::memcpy(copies.data(), source + done * type.bytes, static_cast<std::size_t>(count * type.bytes));
        for (std::int64_t block = 0; block < count; ++block) {
            std::byte* const copy = copies.data() + block * type.bytes;
            patch(copy, part == BlockPart::codes    ? layout.unitScales
                        : part == BlockPart::scales ? layout.unitCodes
                                                    : layout.zeroCodes);
            if (part == BlockPart::scales)
                patch(copy, layout.zeroMinima);
        }
        type.unpack(copies.data(), count, target + done * type.elements);
    }
}

} // namespace secateur
