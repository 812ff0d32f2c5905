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

/// What layer_loops.h does, said in tensors: for any device, with autograd, and as the reference of tests. Numbers of
/// bfloat16 and half are computed with in float32 and rounded once, at the end; float64 stays float64.

/// Over the last dimension. `weight` and `bias` may be undefined; any offset is in `weight` already.
at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias);

/// heads [rows, heads, positions, headDim]; cosines and sines [rows or 1, positions, dims / 2], whose width says how
/// many dimensions turn; the rest passes through.
at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines);

/// Which keys each query sees, bool [rows, 1, queries, keys]. Query i of a row stands at first[row] + i and sees keys
/// below first[row] + lengths[row], within window and causality. Queries behind lengths[row], and any other that would
/// see nothing, see the key at their own position, or the last.
at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t queries,
                       std::int64_t keys, bool causal, int window, const c10::Device& device);

/// softmax(mask(softcap(scale q k^T))) v. q [rows, heads, queries, headDim]; k and v [rows, heads or KV heads, keys,
/// headDim]; mask as by visibleKeys, or undefined = all. Gives [rows, heads, queries, headDim].
at::Tensor plainAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                          double scale, double softcap);
/// The softmax alone, in float32 or wider: [rows, heads, queries, keys].
at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, double scale,
                              double softcap);

/// `projected` [..., 2 width] (gate, then up) -> activation(gate) up, or [..., width] -> activation(up).
at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated);

/// softcap tanh(x / softcap); x where softcap is 0.
at::Tensor plainSoftcap(const at::Tensor& x, double softcap);

/// -log softmax at `targets` (int64, [rows]) of logits [rows, vocab]; 0 where a target is negative. Never less than
/// float32.
at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap);

} // namespace secateur
