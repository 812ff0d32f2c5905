#pragma once

#include "analysis/base/progress.h"
#include "analysis/running/runner.h"

#include <cstddef>
#include <functional>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// What somebody does while batches run through the layers. Every function may be empty.
struct LayerWalk {
    int firstLayer = 0;
    /// X_firstLayer of a batch; empty = the embedding, for which firstLayer must be 0.
    std::function<at::Tensor(std::size_t batch)> start;
    /// A batch is about to run through a layer, in which X_layer enters.
    std::function<void(int layer, std::size_t batch, const at::Tensor& input)> enters;
    /// Runs a batch through a layer; empty = Runner::runLayer.
    std::function<at::Tensor(int layer, std::size_t batch, const at::Tensor& input)> runs;
    /// X_(layer+1) of a batch, as soon as it is there.
    std::function<void(int layer, std::size_t batch, const at::Tensor& output)> passed;
    /// What leaves the last layer.
    std::function<void(std::size_t batch, const at::Tensor& output)> finished;
    LayerObserver* observer = nullptr;
};

/// Runs batches from `firstLayer` to the last one. Where the weights of all layers fit in memory, one batch after the
/// other; else all batches through each layer before the next, so that a weight is read and converted once, however
/// many batches there are.
/// @throws Cancelled, within the time that one layer takes for one batch
void forEachLayer(const Runner& runner, const Plan& plan, std::span<const Batch> batches, const LayerWalk& walk,
                  const Progress& progress = {});

} // namespace secateur
