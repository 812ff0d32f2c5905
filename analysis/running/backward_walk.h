#pragma once

#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// A scalar of each row of a batch, as Runner::lossGradient takes it.
struct BackwardScalar {
    Scalarisation of = Scalarisation::taskLoss;
    std::vector<int> targets;
    std::vector<float> weights;
};

/// One layer of one batch, through which the gradient of one scalar was pulled.
struct LayerBackward {
    int layer;
    std::size_t batch;
    std::size_t pass; ///< place of the scalar among those of the batch
    const at::Tensor& input;
    const at::Tensor& dOutput; ///< gradient of what leaves the layer
    const LayerGradients& gradients;
};

/// What somebody does while gradients go down.
struct BackwardSteps {
    /// Each of them is one backward pass for all layers, heads and rows; batches have the same number of them.
    std::function<std::vector<BackwardScalar>(std::size_t batch)> scalars;
    /// May be empty. Before a gradient goes down: it may be changed.
    std::function<void(std::size_t batch, std::size_t pass, LossGradient& top)> begins;
    std::function<std::vector<Tap>(int layer, std::size_t pass)> taps;
    std::function<void(const LayerBackward&)> pulled;
    /// May be empty. The batches [first, end) are through all layers.
    std::function<void(std::size_t first, std::size_t end)> finished;
};

struct BackwardTrace; // backward_trace.h

/// What a walk keeps: the streams of all layers, of some batches at a time.
struct BackwardMemory {
    ComputeType type = ComputeType::float32;         ///< of the streams while they wait
    std::int64_t bytes = std::int64_t{1} << 30;      ///< where weights do not stay in memory; else one batch at a time
    std::int64_t graphBytes = std::int64_t{1} << 28; ///< of layers that need not run again; where weights stay
    BackwardTrace* trace = nullptr;                  ///< what a walk before left, and this one leaves; null = nothing
};

/// How many tokens of sequences go together for all layers to remember how they ran, `most` at most. Where these would
/// be too few for fast products, or weights do not stay, it is `most`.
std::int64_t tokensAtOnce(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                          std::int64_t most, const BackwardMemory& memory);

/// Batches go up through the layers, and gradients down again. Memory grows with the depth by the streams that wait
/// alone, but for the graphs of the uppermost layers, as many as memory.graphBytes hold; those below run again, one
/// layer's graph at a time. Where the weights stay in memory batch follows batch, else as many go side by side as
/// memory.bytes of streams allow, but at least one, so that weights are read rarely; then all layers run again.
/// @throws Cancelled, within the time that one layer takes for one batch
void walkBackward(const Model& model, const Plan& plan, std::span<const Batch> batches, const BackwardSteps& steps,
                  const BackwardMemory& memory, const Progress& progress);

} // namespace secateur
