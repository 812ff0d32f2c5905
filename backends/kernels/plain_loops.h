#pragma once

#include "analysis/model_spec.h"

#include <ATen/core/Tensor.h>

#include <span>

namespace secateur {

/// What layer_loops.h does, as expressions of ATen: on any device, with gradients, statistics in float32 or wider. The
/// references that the fast loops are judged by. For sources only: pulls in ATen.

/// @param x [.., width] @param bias undefined = none
at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias);

/// @param heads [rows, heads, positions, headDim] @param cosines, sines [rows or 1, positions, dims / 2]
at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines);

/// Which keys a query sees: [rows, 1, queries, keys]. Query i of a row stands at first[row] + i and sees keys below
/// first[row] + lengths[row]; a query of padding, which may see none, sees all.
at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t firstQuery,
                       std::int64_t queries, std::int64_t keys, bool causal, int window, const at::Device& device);

/// softmax(scale q k^T) over the visible keys, 0 elsewhere. @param q, k [rows, heads, .., headDim]
at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& visible, double scale,
                              double softcap);

/// @param projected [rows, width], or where gated [rows, 2 width]: gate, then up
at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated);

/// -log softmax at the targets, [rows].
at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap);

} // namespace secateur
