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

// The loops of layer_loops.h in ATen: for any device, with autograd, and as the reference of tests. bfloat16 and
// float16 are computed in float32, except by plainSoftcap(). Results are rounded to the input's type once, at the end,
// except by plainProbabilities() and plainCrossEntropy(). float64 stays float64.

/// A norm over the last dimension. `weight` and `bias` may be undefined; any offset is part of `weight`.
at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias);

/// Rotates heads [rows, heads, positions, headDim] by cosines and sines [rows or 1, positions, dims / 2]; dimensions
/// from `dims` on are not rotated.
at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines);

/// Whether each query sees each key, bool [rows, 1, queries, keys]. Query i of a row is at position first[row] + i and
/// sees keys below first[row] + lengths[row], as far as window and causality allow. Queries after lengths[row], and any
/// other that would see no key, see the key at their own position, or the last key if their position is behind it.
at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t queries,
                       std::int64_t keys, bool causal, int window, const c10::Device& device);

/// softmax(mask(softcap(scale q k^T))) v. q [rows, heads, queries, headDim]; k and v [rows, heads or KV heads, keys,
/// headDim]; mask as returned by visibleKeys(), or undefined = all. -> [rows, heads, queries, headDim]
at::Tensor plainAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                          double scale, double softcap);
/// The softmax of plainAttention(), in float32 or wider: [rows, heads, queries, keys].
at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, double scale,
                              double softcap);

/// `projected` [..., 2 width] (gate, then up) -> activation(gate) up, or [..., width] -> activation(up).
at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated);

/// softcap tanh(x / softcap); x if softcap is 0.
at::Tensor plainSoftcap(const at::Tensor& x, double softcap);

/// -log softmax of logits [rows, vocab] at `targets` (int64, [rows]), in float32 or wider; 0 for negative targets.
at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap);

} // namespace secateur
