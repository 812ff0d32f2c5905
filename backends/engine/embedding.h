#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// X_0 of a batch, [tokens, hidden] float32: tokens, positions and types, normed and widened as the model does it. For
/// sources only: pulls in ATen.
/// @throws Error for tokens, types and positions that the model does not have
at::Tensor embedBatch(const Model& model, const PlanEnds& ends, const LayerMath& math, const Batch& batch,
                      const at::Device& device);

/// @throws Error when the numbers of a batch do not go together
void checkBatch(const Batch& batch);

} // namespace secateur
