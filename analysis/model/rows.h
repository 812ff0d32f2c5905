#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Rows of a weight, rounded for products. For sources only: pulls in ATen.
struct Rows {
    at::Tensor high;    ///< [rows, columns] bfloat16, or float32 if nothing was rounded
    at::Tensor low;     ///< [rows, columns] bfloat16: the remainder x - high, rounded; undefined if there is none
    at::Tensor squares; ///< [rows] float64: sum of squares before any rounding
    at::Tensor rounded; ///< [rows] float64: sum of squares of `high`
    at::Tensor lost;    ///< [rows] float64: sum of squares of x - high
};

/// Inner products of the Gram matrices of queries and keys, for each block of rows and, last, for all rows: sums of
/// (q_i . q_j)(k_i . k_j). Terms with i = j are exact; the others are products in bfloat16, corrected for the mean
/// effect of rounding. All are [blocks + 1] float64. For sources only: pulls in ATen.
struct GramInnerProducts {
    at::Tensor values;
    at::Tensor independent; ///< the terms with i = j alone
    at::Tensor variances;   ///< of `values`, if rounding errors are independent from row to row
    at::Tensor lost;        ///< part of `independent` that rounding to bfloat16 would lose
};

} // namespace secateur
