#pragma once

#include "analysis/running/layer_observer.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

namespace secateur {

/// What Runner::backward gives. For sources only: pulls in ATen.
struct TapGradient {
    at::Tensor value;    ///< shaped as Tap says
    at::Tensor gradient; ///< of the same shape; undefined where the tap does not touch the output
};
struct LayerGradients {
    at::Tensor input; ///< [rows, positions, hidden]
    std::map<Tap, TapGradient> taps;
};

/// A gradient that is to go back through a layer, and what is to be seen on its way.
struct OutputGradient {
    at::Tensor dOutput; ///< [rows, positions, hidden]
    std::vector<Tap> wanted;
};

/// A layer that ran on a batch, and what gradients need to go back through it. Nothing it was made of need outlive it.
class RecordedLayer {
public:
    virtual ~RecordedLayer() = default;
    virtual at::Tensor output() const = 0; ///< X_(layer+1)
    /// As Runner::backwardEach, once: what it holds is given up on the way.
    virtual void backwardEach(std::span<const OutputGradient> pulls, const Runner::BackwardSink& sink) = 0;
};

/// What Runner::lossGradient gives.
struct LossGradient {
    std::vector<double> values; ///< [rows]
    at::Tensor stream;          ///< [rows, positions, hidden]: gradient of the sum of the values
};

} // namespace secateur
