#pragma once

#include "analysis/kernels.h"

namespace secateur {

/// Kernels by oneDNN for the processor that this runs on: bfloat16 where it multiplies such numbers itself.
const Kernels& machineKernels();

} // namespace secateur
