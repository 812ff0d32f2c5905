#pragma once

#include "analysis/model/model.h"
#include "backends/kernels/stored_matrix.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// The rows of a matrix as a file stores them.
struct StoredRows {
    std::string_view type;            ///< name of the type in its format: "Q4_1"
    std::span<const std::byte> rows;  ///< one after the other, of equal size
    std::vector<std::int32_t> order;  ///< for each row of the weight, its index in `rows`
    std::shared_ptr<const void> file; ///< keeps `rows` mapped
};

/// A Model that can give weights as its file stores them.
class StoredSource {
public:
    virtual ~StoredSource() = default;
    /// A weight as the file stores it. None if the model does not have it, or the file has it transposed.
    virtual std::optional<StoredRows> storedRows(int layer, WeightName name) const = 0;
    /// StoredRows::type, without listing the rows; empty if there are none.
    virtual std::string_view storedType(int layer, WeightName name) const = 0;
};

/// A matrix of the model, or the rows or columns of it that belong to some heads or neurons.
struct WeightPart {
    WeightName name;
    int unit = 1;                                    ///< rows or columns of a head or neuron
    const std::vector<std::int64_t>* kept = nullptr; ///< indices of the heads or neurons, ascending; null = all
    bool cutsColumns = false;                        ///< whether `kept` selects columns instead of rows

    std::int64_t rows(const Model& model, int layer) const; ///< number of rows of the part
};

/// Parts of a layer's weights as one matrix, one below the other, that stays in the file. Null if products cannot read
/// the types in which the file stores them.
/// @param parts of equal columns; only a single part may cut columns
std::shared_ptr<const StoredMatrix> storedMatrix(const Model& model, int layer, std::span<const WeightPart> parts);

/// Whether all projections of a layer, or the LM head for layer -1, are stored in types that products of few tokens
/// read.
bool hasStoredProjections(const Model& model, int layer);

} // namespace secateur
