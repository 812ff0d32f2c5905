#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Rows of a weight in a form that products take. For sources only: pulls in ATen.
struct Rows {
    at::Tensor high;    ///< [rows, columns] bfloat16, or float32 where nothing was rounded
    at::Tensor low;     ///< [rows, columns] bfloat16: what `high` leaves, rounded; undefined where it leaves nothing
    at::Tensor squares; ///< [rows] float64: sum of squares before any rounding
    at::Tensor rounded; ///< [rows] float64: sum of squares of `high`
    at::Tensor lost;    ///< [rows] float64: sum of squares of what `high` leaves
};

/// Inner products of the Gram matrices of queries and keys, of each block of rows and, last, of all rows: sums of
/// (q_i . q_j)(k_i . k_j). Those of a row with itself are exact; different rows are multiplied in bfloat16, and what
/// rounding takes from them on average is given back. All [blocks + 1] float64. For sources only: pulls in ATen.
struct GramInnerProducts {
    at::Tensor values;
    at::Tensor independent; ///< of rows with themselves alone
    at::Tensor variances;   ///< of `values`, where rounding is independent from row to row
    at::Tensor lost;        ///< of what rounding leaves of `independent`
};

} // namespace secateur
