#pragma once

namespace at {
class Tensor;
}

#include "analysis/export/compact_layout.h"
#include "backends/formats/tensor_slots.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

/// Rows and columns of a weight, [out, in], float32, in order; zeroIndex = zeros.
/// @param columns empty = all @param columnFactors [columns]; empty = 1
at::Tensor selectedMatrix(const TensorSlot& slot, const std::vector<std::int64_t>& rows,
                          const std::optional<std::vector<std::int64_t>>& columns,
                          const std::vector<float>& columnFactors);

/// A bypass of queries and keys as a single matrix: alpha * Wo R Wv, where R repeats the KV heads of each group
/// (HARP). With a compensation's factors of heads. Cut heads are left out.
class FoldedAttention {
public:
    FoldedAttention(const TensorSlot& value, const TensorSlot& output, const CutLayer& layer);

    /// [hidden, hidden], float32. The sums are in double precision.
    at::Tensor matrix() const;

private:
    TensorSlot m_value;
    TensorSlot m_output;
    std::vector<std::int64_t> m_valueRows; ///< for each column of m_columns, the row of the value projection
    std::vector<std::int64_t> m_columns;   ///< columns of the output projection
    std::vector<float> m_factors;          ///< [m_columns]
};

} // namespace secateur
