#pragma once

#include "analysis/masks/pruning_mask.h"
#include "backends/base/file_output.h"
#include "backends/formats/quants.h"
#include "backends/formats/tensor_slots.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The numbers [begin, end) of a row.
struct NumberRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Whether numbers of a row can become exactly 0 while all others keep their bits. In a plain type any numbers can; in
/// a quantised type, all numbers that share a scale, or single ones if the type has a code for 0.
bool canZero(const StorageType& type, NumberRange range);

/// Sets numbers to 0. @param row its stored bytes @param range one that canZero() allows
void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range);

/// The numbers of a stored tensor that become 0. A vector is one row.
struct WeightCut {
    const TensorEntry* entry = nullptr;
    std::vector<bool> rows;           ///< [rows] true = the whole row; empty = no row
    std::vector<NumberRange> columns; ///< in every row; in order, not adjacent
    bool isWidened = false;           ///< whether it is written as float32, because canZero() does not allow the cut

    std::int64_t rowCount() const;
    std::int64_t rowBytes() const; ///< stored size of a row
};

/// The numbers that a masked export sets to 0 (resources/manual/formats.md, Exports): for a cut head its columns of the
/// output projection, for a cut neuron its row of the up projection and its bias, for a dropped sublayer the last
/// matrix and its bias. Sorted by their place in the files.
/// @throws Error naming tensors of a type that cannot be read, and those that share bytes with other tensors in use
std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask);

/// The tensor with its cuts, to be written in place of the original.
FilePiece pieceOf(const WeightCut& cut);

} // namespace secateur
