#pragma once

#include "analysis/model/kernels.h"

#include <cstdint>

namespace secateur {

/// Kernels::rows for bfloat16 (with or without its lower half) and float32, in one pass over the source.
Rows roundedRows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                 Precision precision);

/// Kernels::columnSquares for floating types up to float32. The same on any number of threads.
at::Tensor columnSquares(const at::Tensor& weight);

/// Kernels::innerProducts. The same on any number of threads.
at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b);

/// Sum of squares of float32 numbers that lie side by side, good to 1e-8: float64 takes up the sums of 16 of a lane.
double sumOfSquares(const float* values, std::int64_t count);

} // namespace secateur
