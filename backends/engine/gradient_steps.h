#pragma once

#include "backends/engine/plan_layer.h"

#include <ATen/core/Tensor.h>

namespace secateur {

// The way back through the steps between a layer's products, on the processor in float32. Nothing of it is recorded.
// For sources only: pulls in ATen.

/// @param x [n, width] what the norm read @param gradient [n, width] of what came out -> of x
at::Tensor throughNorm(const Norm& norm, const at::Tensor& x, const at::Tensor& gradient);

/// @param projected as activateRows() reads it @param gradient [n, width] of `hidden` -> of `projected`
at::Tensor throughActivation(const at::Tensor& projected, Activation kind, bool gated, const at::Tensor& gradient);

} // namespace secateur
