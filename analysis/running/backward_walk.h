#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// A scalar per row of a batch, with the arguments of Runner::lossGradient.
struct BackwardScalar {
    Scalarisation of = Scalarisation::taskLoss;
    std::vector<int> targets;
    std::vector<float> weights;
};

/// The vector-Jacobian product of one layer for one batch and one scalar.
struct LayerBackward {
    int layer;
    std::size_t batch;
    std::size_t pass; ///< index of the scalar among those of the batch
    const at::Tensor& input;
    const at::Tensor& dOutput; ///< gradient of the layer's output
    const LayerGradients& gradients;
};

/// Callbacks of a backward walk.
struct BackwardSteps {
    /// The scalars of a batch. Each is one backward pass through all layers; all batches have the same number.
    std::function<std::vector<BackwardScalar>(std::size_t batch)> scalars;
    /// Called with the gradient of a scalar with respect to the last stream, and may change it. May be empty.
    std::function<void(std::size_t batch, std::size_t pass, LossGradient& top)> begins;
    /// The taps whose gradients are wanted.
    std::function<std::vector<Tap>(int layer, std::size_t pass)> taps;
    /// Called after each vector-Jacobian product.
    std::function<void(const LayerBackward&)> pulled;
    /// Called when the batches [first, end) are through all layers. May be empty.
    std::function<void(std::size_t first, std::size_t end)> finished;
};

struct BackwardTrace; // stream_cache.h

/// What a walk may keep in memory.
struct BackwardMemory {
    ComputeType type = ComputeType::float32;    ///< type of the kept streams
    std::int64_t bytes = std::int64_t{1} << 30; ///< maximum bytes of streams, for plans that are not resident; resident
                                                ///< plans run one batch at a time
    std::int64_t graphBytes = std::int64_t{1} << 28; ///< maximum bytes of graphs, for resident plans
    BackwardTrace* trace = nullptr; ///< left by the walk before, and updated by this one; null = none
};

/// Maximum number of tokens per batch for which the graphs of all layers fit memory.graphBytes, at most `most`. It is
/// `most` for plans that are not resident, and where the batches would be too small for fast products.
std::int64_t tokensAtOnce(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                          std::int64_t most, const BackwardMemory& memory);

/// Runs batches forward through the layers and the gradients of their scalars backward. The forward pass keeps the
/// input of every layer, and the graphs of the uppermost layers as far as memory.graphBytes allow. The backward pass
/// runs the other layers again, one graph at a time. With a resident plan batch follows batch. Otherwise as many
/// batches as memory.bytes of streams allow, at least one, go through a layer together, so that weights are read
/// rarely; no graphs are kept then.
/// @throws Cancelled, within the time that one layer takes for one batch
void walkBackward(const Model& model, const Plan& plan, std::span<const Batch> batches, const BackwardSteps& steps,
                  const BackwardMemory& memory, const Progress& progress);

} // namespace secateur
