#pragma once

#include "analysis/running/runner.h"
#include "analysis/running/runner_results.h"
#include "backends/engine/layer_math.h"
#include "backends/engine/plan_layer.h"
#include "backends/engine/target_scalars.h"

#include <memory>
#include <span>

namespace secateur {

/// Runner::backwardEach for a stream [tokens, hidden]. Only backward.cpp and gradient_math.cpp use autograd.
/// For sources only: includes ATen.
/// @param input input of a layer whose weights are for the backward pass (EnginePlan::gradientLayer)
void backwardLayer(const LayerMath& math, const AttentionInput& input, const at::Tensor& x,
                   std::span<const OutputGradient> outputs, const Runner::BackwardSink& sink);

/// Runner::recordLayer for a stream [tokens, hidden].
std::unique_ptr<RecordedLayer> recordLayerGraph(const LayerMath& math, const AttentionInput& input, const at::Tensor& x,
                                                std::span<const Tap> wanted);

/// Runner::recordedBytes. @param isPlain whether the layer is computed by ATen only
std::int64_t graphBytes(const ModelSpec& spec, const LayerSpec& layer, const Batch& batch, std::span<const Tap> wanted,
                        bool isPlain);

/// Runner::lossGradient for a stream [rows, positions, hidden].
/// @param headWeights as returned by EnginePlan::gradientEmbeddingAndHead
LossGradient lossGradientOf(const LayerMath& math, const ModelSpec& spec, const EmbeddingAndHead& headWeights,
                            const at::Tensor& x, const Batch& batch, Scalarisation of, const LossTargets& targets);

} // namespace secateur
