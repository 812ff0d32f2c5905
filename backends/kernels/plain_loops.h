#pragma once

#include "analysis/model/model_spec.h"

#include <cstdint>
#include <span>

namespace at {
class Tensor;
}

namespace c10 {
struct Device;
}

namespace secateur {

// The loops of layer_loops.h in ATen. They run on any device and support autograd, and tests use them as the reference.
// bfloat16 and float16 are computed in float32, except by plainSoftcap(). Results are rounded to the type of the input
// once, at the end, except by plainProbabilities() and plainCrossEntropy(). float64 stays float64.

/// A norm over the last dimension. `weight` and `bias` may be undefined. `weight` includes an offset if the norm has
/// one.
at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias);

/// Rotates heads [rows, heads, positions, headDim] by cosines and sines [rows or 1, positions, dims / 2]. Dimensions
/// from `dims` on are not rotated.
at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines);

/// Whether each query sees each key, bool [rows, 1, queries, keys]. Query i of a row is at position first[row] + i. It
/// sees keys below first[row] + lengths[row], limited by window and causality. A query after lengths[row], or one that
/// would see no key, sees the key at its own position; the last key if its position is behind all keys.
at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t queries,
                       std::int64_t keys, bool causal, int window, const c10::Device& device);

/// softmax(mask(softcap(scale q k^T))) v -> [rows, heads, queries, headDim]. q is [rows, heads, queries, headDim]; k
/// and v are [rows, heads or KV heads, keys, headDim]; mask is a result of visibleKeys(), or undefined = every key is
/// visible.
at::Tensor plainAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                          double scale, double softcap);
/// The softmax in plainAttention(), in float32 or float64: [rows, heads, queries, keys].
at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, double scale,
                              double softcap);

/// activation(gate) up for `projected` [..., 2 width] (gate, then up); activation(up) for `projected` [..., width].
at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated);

/// softcap tanh(x / softcap); x if softcap is 0.
at::Tensor plainSoftcap(const at::Tensor& x, double softcap);

/// -log softmax of logits [rows, vocab] at `targets` ([rows] int64), in float32 or float64. 0 for negative targets.
at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap);

} // namespace secateur
