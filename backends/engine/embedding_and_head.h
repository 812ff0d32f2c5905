#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/layer_math.h"

namespace secateur {

/// X_0 of a batch, [tokens, hidden] float32: tokens, positions and types, normed and widened as the model does it. For
/// sources only: pulls in ATen.
/// @throws Error for tokens, types and positions that the model does not have
at::Tensor embedBatch(const Model& model, const EmbeddingAndHead& weights, const LayerMath& math, const Batch& batch,
                      const at::Device& device);

/// @throws Error when the numbers of a batch do not go together
void checkBatch(const Batch& batch);

/// Behind the last layer: logits, losses and their gradients. For sources only: pulls in ATen.
class OutputHead {
public:
    /// All must outlive it.
    OutputHead(const ModelSpec& spec, const EmbeddingAndHead& weights, const LayerMath& math)
        : m_spec(spec)
        , m_weights(weights)
        , m_math(math) {}

    /// Decoders: [n, hidden] -> logits [n, vocab] float32, without the softcap.
    at::Tensor rawLogits(const at::Tensor& x) const;
    /// With it.
    at::Tensor logits(const at::Tensor& x) const;
    /// Encoders: first tokens [rows, hidden] -> [rows, classes], or pooled [rows, hidden] where there is no head.
    at::Tensor classes(const at::Tensor& first) const;
    /// Encoders: behind the pooler, where there is one.
    at::Tensor pooled(const at::Tensor& first) const;

    /// @param x [tokens, hidden] @param targets [tokens], -1 = none
    TokenLosses losses(const at::Tensor& x, std::span<const int> targets) const;

private:
    const ModelSpec& m_spec;
    const EmbeddingAndHead& m_weights;
    const LayerMath& m_math;
};

/// Rows of logits that may exist at once.
std::int64_t rowsAtOnce(std::int64_t vocab);

} // namespace secateur
