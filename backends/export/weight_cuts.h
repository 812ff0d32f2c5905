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

/// The numbers [begin, end) of a matrix row.
struct NumberRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Whether numbers of a row can be set to exactly 0 without changing a bit of the others. In a plain type, any numbers
/// can. In a quantised type, all numbers that share a scale can; single numbers can if the type has a code for 0.
bool canZero(const StorageType& type, NumberRange range);

/// Sets numbers to 0. @param row stored bytes of the row @param range numbers for which canZero() is true
void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range);

/// The numbers of a stored tensor that an export sets to 0. A vector counts as one row.
struct WeightCut {
    const TensorEntry* entry = nullptr;
    std::vector<bool> rows;           ///< [rows] true = the whole row is set to 0; empty = no row
    std::vector<NumberRange> columns; ///< numbers that are set to 0 in every row; in order, not adjacent
    bool isWidened = false;           ///< written as float32, because canZero() does not allow the cut

    std::int64_t rowCount() const;
    std::int64_t rowBytes() const; ///< size in bytes of a stored row
};

/// The numbers that a masked export sets to 0 (resources/manual/formats.md, Exports):
/// - for a cut head, its columns of the output projection;
/// - for a cut neuron, its row of the up projection and its bias;
/// - for a dropped sublayer, its last matrix and the bias.
/// Sorted by place in the files.
/// @throws Error naming tensors of a type that cannot be read, and tensors that share bytes with other tensors in use
std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask);

/// A piece of an output file: the tensor of a cut with the cut numbers set to 0.
FilePiece pieceOf(const WeightCut& cut);

} // namespace secateur
