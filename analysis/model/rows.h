#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Rows of a weight, rounded for products. For sources only: pulls in ATen.
struct Rows {
    at::Tensor high;    ///< [rows, columns] bfloat16, or float32 if nothing was rounded
    at::Tensor low;     ///< [rows, columns] bfloat16: x - high, rounded, with x the weight; undefined if not kept
    at::Tensor squares; ///< [rows] float64: sum of squares before any rounding
    at::Tensor rounded; ///< [rows] float64: sum of squares of `high`
    at::Tensor lost;    ///< [rows] float64: sum of squares of x - high
};

/// Inner products of the Gram matrices of queries and keys: sums over rows i and j of (q_i . q_j)(k_i . k_j), for each
/// block of rows and, last, for all rows. Terms with i = j are exact; the others are computed in bfloat16 and corrected
/// for the mean effect of rounding. All tensors are [blocks + 1] float64. For sources only: pulls in ATen.
struct GramInnerProducts {
    at::Tensor values;
    at::Tensor independent; ///< the terms with i = j only
    at::Tensor variances;   ///< of `values`, assuming that rounding errors of different rows are independent
    at::Tensor lost;        ///< the part of `independent` that rounding to bfloat16 would lose
};

} // namespace secateur
