#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace secateur {

/// A scalar for each row of a batch, as arguments of Runner::lossGradient().
struct BackwardScalar {
    Scalarisation of = Scalarisation::taskLoss;
    std::vector<int> targets;
    std::vector<float> weights;
    std::shared_ptr<const TeacherTargets> teacher = {}; ///< null = none
};

/// Input and result of the vector-Jacobian product of one layer, for one batch and one scalar.
struct LayerBackward {
    int layer;
    std::size_t batch;
    std::size_t pass; ///< index of the scalar among those of the batch
    const at::Tensor& input;
    const at::Tensor& dOutput; ///< gradient with respect to the layer's output
    const LayerGradients& gradients;
};

/// Callbacks of walkBackward().
struct BackwardSteps {
    /// Returns the scalars of a batch. Every batch must have the same number of scalars. Each scalar takes a backward
    /// pass through all layers.
    std::function<std::vector<BackwardScalar>(std::size_t batch)> scalars;
    /// Called with the gradient of a scalar with respect to the output of the last layer. It may change this gradient.
    /// May be empty.
    std::function<void(std::size_t batch, std::size_t pass, LossGradient& top)> begins;
    /// Returns the taps whose gradients are requested.
    std::function<std::vector<Tap>(int layer, std::size_t pass)> taps;
    /// Called after each vector-Jacobian product.
    std::function<void(const LayerBackward&)> pulled;
    /// Layers below it are only run forward.
    int lowestLayer = 0;
    /// Called after the batches [first, end) have passed all layers. May be empty.
    std::function<void(std::size_t first, std::size_t end)> finished;
};

struct BackwardTrace; // stream_cache.h

/// Limits on the memory of a walk, and streams that it shares with the next walk.
struct BackwardMemory {
    ComputeType type = ComputeType::float32;    ///< type of the stored streams
    std::int64_t bytes = std::int64_t{1} << 30; ///< maximum bytes of streams, for plans that are not resident; resident
                                                ///< plans run one batch at a time
    std::int64_t graphBytes = std::int64_t{1} << 28; ///< maximum bytes of graphs, for resident plans
    BackwardTrace* trace = nullptr; ///< streams of the previous walk, replaced by this walk; null = none
};

/// The largest number of tokens of a batch for which the graphs of all layers fit memory.graphBytes, but at most
/// `most`. Returns `most` for plans that are not resident. Also returns `most` if batches would have fewer than 128
/// tokens, which are too few for fast products.
std::int64_t tokensAtOnce(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                          std::int64_t most, const BackwardMemory& memory);

/// Number of batches at the beginning that walkBackward() runs together through the layers.
std::size_t batchesTogether(const Model& model, const Plan& plan, std::span<const Batch> batches,
                            const BackwardMemory& memory);

/// Runs batches forward through the layers, and the gradients of their scalars backward. The forward pass stores the
/// input of every layer. It also stores the autograd graphs of as many of the uppermost layers as memory.graphBytes
/// allows; the backward pass runs the other layers again, one graph at a time. With a resident plan, batches run one
/// after another. Otherwise no graphs are stored, and as many batches as memory.bytes allows, but at least one, go
/// through each layer together, so that weights are read less often.
/// @throws Cancelled, within the time that one layer takes for one batch
void walkBackward(const Model& model, const Plan& plan, std::span<const Batch> batches, const BackwardSteps& steps,
                  const BackwardMemory& memory, const Progress& progress);

} // namespace secateur
