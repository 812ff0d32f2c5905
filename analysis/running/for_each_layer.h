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

/// Callbacks of a walk through the layers. Every function may be empty.
struct LayerWalk {
    int firstLayer = 0;
    /// X_firstLayer of a batch; empty = the embedding, and firstLayer must be 0.
    std::function<at::Tensor(std::size_t batch)> start;
    /// Called before a layer with its input X_layer.
    std::function<void(int layer, std::size_t batch, const at::Tensor& input)> enters;
    /// Runs a batch through a layer; empty = Runner::runLayer.
    std::function<at::Tensor(int layer, std::size_t batch, const at::Tensor& input)> runs;
    /// Called after a layer with its output X_(layer+1).
    std::function<void(int layer, std::size_t batch, const at::Tensor& output)> passed;
    /// Called with the output of the last layer.
    std::function<void(std::size_t batch, const at::Tensor& output)> finished;
    LayerObserver* observer = nullptr;
};

/// Runs batches from `firstLayer` to the last layer. With a resident plan one batch follows the other. Otherwise all
/// batches go through each layer before the next, so that each weight is read and converted once.
/// @throws Cancelled, within the time that one layer takes for one batch
void forEachLayer(const Runner& runner, const Plan& plan, std::span<const Batch> batches, const LayerWalk& walk,
                  const Progress& progress = {});

} // namespace secateur
