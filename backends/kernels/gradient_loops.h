#pragma once

#include "backends/kernels/layer_loops.h"

#include <ATen/core/Tensor.h>

namespace secateur {

/// The ways back through the loops of a layer (layer_loops.h), in float32, each in one pass over memory: from the
/// gradient of what came out to that of what was read. Tensors are contiguous unless said otherwise, results allocated
/// by the caller; they do not depend on the number of threads. For sources only: pulls in ATen.

/// @param x [rows, width] what the norm read @param gradient, result [rows, width]
void normRowsBackward(const at::Tensor& x, const NormValues& norm, const at::Tensor& gradient, const at::Tensor& result);

/// @param projected as of activateRows() @param gradient [rows, width] of `hidden` @param result of `projected`
void activateRowsBackward(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& gradient,
                      const at::Tensor& result);

/// Where gradients of the projections go: [rows, positions, n, headDim], the heads of a position side by side. Behind
/// the lengths of rows they become 0.
struct ProjectionGradients {
    at::Tensor queries;
    at::Tensor keys; ///< n is that of KV heads; or that of query heads: what each of these gives its key alone
    at::Tensor values;
};

/// Through attend() and placeHeads(), of rows that begin at position 0. Scores are computed again: nothing as large as
/// a map of attention waits or exists.
/// @param projected as of placeHeads() @param dContext [rows, positions, heads headDim]
void attendBackward(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> lengths,
                const at::Tensor& dContext, const ProjectionGradients& result);

} // namespace secateur
