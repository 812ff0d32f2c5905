#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Rows of a weight, rounded for products. For sources only: includes ATen.
struct Rows {
    at::Tensor high;    ///< [rows, columns] bfloat16, or float32 if nothing was rounded
    at::Tensor low;     ///< [rows, columns] bfloat16: weight minus `high`, rounded; undefined if not needed
    at::Tensor squares; ///< [rows] float64: sum of squares before any rounding
    at::Tensor rounded; ///< [rows] float64: sum of squares of `high`
    at::Tensor lost;    ///< [rows] float64: sum of squares of weight minus `high`
};

/// Inner products of the Gram matrices of queries and keys: sums over rows i and j of (q_i . q_j)(k_i . k_j), for each
/// block of rows and, as the last element, for all rows. Terms with i = j are exact. The other terms are computed in
/// bfloat16 and corrected for the mean effect of rounding. All tensors are [blocks + 1] float64.
/// For sources only: includes ATen.
struct GramInnerProducts {
    at::Tensor values;
    at::Tensor independent; ///< the terms with i = j only
    at::Tensor variances;   ///< variances of `values` if rounding errors of different rows are independent
    at::Tensor lost;        ///< the part of `independent` that rounding to bfloat16 would lose
};

} // namespace secateur
