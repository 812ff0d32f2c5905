#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

namespace secateur {

/// What a walk leaves for the next one over the same batches: an edit of a layer leaves the streams below it as they
/// are, so that the way up begins there. The way down owes all layers: a gradient changes everywhere. For sources only:
/// pulls in ATen.
struct BackwardTrace {
    explicit BackwardTrace(std::size_t batches)
        : streams(batches)
        , tops(batches)
        , values(batches) {}

    /// @param inputs X_0, X_1, ... of all layers @param top X_layers
    void keep(std::size_t batch, const std::vector<at::Tensor>& inputs, const at::Tensor& top) {
        if (keepsStreams)
            streams[batch] = inputs;
        tops[batch] = top;
        values[batch].clear();
    }

    bool keepsStreams = true; ///< where not, nothing can be resumed
    int firstLayer = 0;       ///< where the next walk begins; below it masks must be those of the walk before
    std::vector<std::vector<at::Tensor>> streams; ///< of each batch, X_l by layer
    std::vector<at::Tensor> tops;                 ///< of each batch, what left the last layer
    std::vector<std::vector<double>> values; ///< of each batch, the first scalar of its rows; empty = none was asked
};

} // namespace secateur
