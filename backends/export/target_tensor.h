#pragma once

#include "backends/base/file_output.h"
#include "backends/formats/tensor_slots.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A tensor of an exported checkpoint.
struct TargetTensor {
    std::string name;
    const StorageType* type = nullptr;
    std::vector<std::int64_t> shape; ///< slowest dimension first
    std::vector<FilePiece> pieces;

    std::size_t bytes() const;
};

/// In place of a row or column of a stored tensor: one of zeros.
inline constexpr std::int64_t zeroIndex = -1;

/// The rows and columns of a stored tensor that an export keeps, in order, and changes of their numbers. A vector is a
/// single row.
struct TensorSelection {
    std::vector<std::int64_t> rows;                        ///< rows of the tensor, or zeroIndex
    std::optional<std::vector<std::int64_t>> columns = {}; ///< columns, or zeroIndex; empty = all
    std::vector<float> rowFactors = {};                    ///< [rows]; empty = 1
    std::vector<float> columnFactors = {};                 ///< [columns]; empty = 1
    std::vector<float> added = {};                         ///< [columns], added to each row after the factors
};

/// Whether the selected numbers can stay in their stored type without a change: nothing is multiplied or added, and
/// columns are cut along the blocks of a quantised type.
bool keepsBlocks(const TensorEntry& entry, const TensorSelection& selection);

/// The pieces of a file with the selected numbers in a type. They read the source row by row.
/// @param type must be that of the source if it cannot be encoded (canEncode()), and then keepsBlocks() must be true
std::vector<FilePiece> selectedPieces(const TensorEntry& entry, const TensorSelection& selection,
                                      const StorageType& type);

/// Stored rows of a tensor as float32, on the calling thread. @param rows whole blocks
std::vector<float> storedNumbers(const TensorEntry& entry, std::span<const std::byte> rows);

/// Rows of float32 numbers as stored bytes of a type. @param width numbers in a row
std::vector<std::byte> encodedRows(const StorageType& type, std::span<const float> numbers, std::size_t width);

/// The size in bytes of so many numbers, which must be whole blocks.
std::size_t storedBytes(const StorageType& type, std::int64_t numbers);

} // namespace secateur
