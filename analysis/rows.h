#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Rows of a weight in a form that products take. For sources only: pulls in ATen.
struct Rows {
    at::Tensor high;    ///< [rows, columns] bfloat16, or float32 where nothing was rounded
    at::Tensor low;     ///< [rows, columns] bfloat16: what `high` leaves, rounded; undefined where it leaves nothing
    at::Tensor squares; ///< [rows] float64: sum of squares before any rounding
    at::Tensor lost;    ///< [rows] float64: sum of squares of what `high` leaves
};

} // namespace secateur
