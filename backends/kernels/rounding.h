#pragma once

#include "analysis/model/kernels.h"

#include <cstdint>

namespace secateur {

/// Kernels::rows for all precisions. Reads the source once.
Rows roundedRows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                 Precision precision);

/// Kernels::columnSquares for floating types up to float32. The result does not depend on the number of threads.
at::Tensor columnSquares(const at::Tensor& weight);

/// Kernels::innerProducts. The result does not depend on the number of threads.
at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b);

/// Sum of squares of contiguous numbers, with a relative error of about 1e-8.
double sumOfSquares(const float* values, std::int64_t count);

} // namespace secateur
