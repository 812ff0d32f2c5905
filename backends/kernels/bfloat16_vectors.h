#pragma once

#include "backends/kernels/bfloat16_rows.h"

namespace secateur::avx512 {

/// Whether the products below were compiled into this program. If not, they do nothing. They may be called only on
/// processors with AVX-512 and its bfloat16 instructions, which treat subnormal numbers as zero.
extern const bool multipliesRows;

void multiply(const RowProduct& product);
void multiply(const PanelRows& product);

} // namespace secateur::avx512
