#pragma once

#include "analysis/model/model.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

namespace secateur {

/// The value at a tap and its gradient. For sources only: includes ATen.
struct TapGradient {
    at::Tensor value;    ///< in the shape that Tap documents
    at::Tensor gradient; ///< in the same shape; undefined if the output does not depend on the tap
};

/// Gradients of the tensors of PlanAdapters. Undefined if the output does not depend on them.
struct AdapterGradients {
    struct LowRank {
        at::Tensor a; ///< [rank, in]
        at::Tensor b; ///< [out, rank]
    };
    std::map<WeightName, LowRank> updates;
    std::map<WeightName, at::Tensor> weights;
    std::map<WeightName, at::Tensor> factors; ///< of a compensation, at the output and down projections
    std::map<WeightName, at::Tensor> biases;
};

/// Gradients with respect to a layer's input, to its taps and to the plan's adapters: the result of Runner::backward.
struct LayerGradients {
    at::Tensor input; ///< [rows, positions, hidden]
    std::map<Tap, TapGradient> taps;
    AdapterGradients adapters;
};

/// A gradient of a layer's output.
struct OutputGradient {
    at::Tensor dOutput;      ///< [rows, positions, hidden]
    std::vector<Tap> wanted; ///< taps whose gradients are wanted
};

/// A layer that ran on a batch, with its autograd graph. It does not refer to the arguments of Runner::recordLayer().
class RecordedLayer {
public:
    virtual ~RecordedLayer() = default;
    virtual at::Tensor output() const = 0; ///< X_(layer+1)
    /// Like Runner::backwardEach(). It may be called only once, because it frees the graph.
    virtual void backwardEach(std::span<const OutputGradient> outputs, const Runner::BackwardSink& sink) = 0;
};

/// The result of Runner::lossGradient.
struct LossGradient {
    std::vector<double> values; ///< [rows]
    at::Tensor stream;          ///< [rows, positions, hidden]: gradient of the sum of the values
    AdapterGradients adapters;  ///< gradients of the trained weights outside of the layers
};

} // namespace secateur
