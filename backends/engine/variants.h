#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/engine_plan.h"
#include "backends/engine/layer_math.h"

namespace secateur {

/// Runner::runVariants for streams [tokens, hidden]. For sources only: pulls in ATen.
/// @param input of the plan's own layer
void runLayerVariants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input,
                      const at::Tensor& x, std::span<const LayerMask> variants, const Runner::VariantSink& sink);

} // namespace secateur
