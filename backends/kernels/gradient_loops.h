#pragma once

#include "backends/kernels/layer_loops.h"

#include <ATen/core/Tensor.h>

namespace secateur {

// The vector-Jacobian products of the loops of a layer (layer_loops.h), in float32. They map the gradient of a loop's
// output to the gradient of its input. Each one, except that of attention, reads memory once. Tensors are contiguous
// unless stated otherwise. The caller allocates results. Results do not depend on the number of threads.
// For sources only: includes ATen.

/// The backward pass of normRows().
/// @param x [rows, width] input of the norm @param gradient gradient of its output, [rows, width]
/// @param result gradient of `x`, [rows, width]
void normRowsBackward(const at::Tensor& x, const NormValues& norm, const at::Tensor& gradient,
                      const at::Tensor& result);

/// The backward pass of activateRows().
/// @param projected as in activateRows() @param gradient gradient of `hidden`, [rows, width]
/// @param result gradient of `projected`
void activateRowsBackward(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& gradient,
                          const at::Tensor& result);

/// Gradients of the projections, [rows, positions, n, headDim]; the n heads of a position are contiguous. They are 0 at
/// positions after the end of a row.
struct ProjectionGradients {
    at::Tensor queries;
    at::Tensor keys; ///< n = kvHeads: summed over the query heads of a KV group; n = heads: one for each query head
    at::Tensor values;
};

/// The backward pass of placeHeads() and attend(), for rows that begin at position 0. Scores are computed again, so
/// that no attention map has to be stored.
/// @param projected as in placeHeads() @param dContext gradient of the contexts, [rows, positions, heads headDim]
void attendBackward(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                    const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> lengths,
                    const at::Tensor& dContext, const ProjectionGradients& result);

} // namespace secateur
