#pragma once

#include "analysis/masks/pruning_mask.h"
#include "backends/base/file_pieces.h"
#include "backends/formats/quants.h"
#include "backends/formats/tensor_slots.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Numbers [begin, end) of a row.
struct NumberRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Whether numbers of a row can become exactly 0 while all others keep their bits: those of a plain type; of a
/// quantised one all that share a scale, and single ones where the type has a code for 0.
bool canZero(const StorageType& type, NumberRange range);

/// Sets them to 0. @param row as it is stored @param range one that canZero()
void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range);

/// What of a tensor becomes 0, as the file keeps it. A vector is one row.
struct WeightCut {
    const TensorEntry* entry = nullptr;
    std::vector<bool> rows;           ///< [rows] true = all of it; empty = none
    std::vector<NumberRange> columns; ///< of every row; in order, apart from each other
    bool isWidened = false;           ///< kept as float32: its type cannot hold these zeros beside the other numbers

    std::int64_t rowCount() const;
    std::int64_t rowBytes() const; ///< as it is stored
};

/// What masked export sets to 0 (export.md, 1): of a cut head the columns of the output projection, of a cut neuron the
/// rows of up and its bias, of a dropped sublayer the last matrix and its bias. In order of their place in the files.
/// @throws Error naming tensors of a type that is not read, and those that share their bytes with others in use
std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask);

/// The tensor with its cuts, to be written in place of the source's.
FilePiece pieceOf(const WeightCut& cut);

} // namespace secateur
