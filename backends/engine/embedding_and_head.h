#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/layer_math.h"

namespace secateur {

/// The first residual stream of a batch, [tokens, hidden] float32: the sum of token, position and type embeddings, with
/// the norm and projection of the model. For sources only: includes ATen.
/// @throws Error for tokens, types and positions that the model does not have
at::Tensor embedBatch(const Model& model, const EmbeddingAndHead& weights, const LayerMath& math, const Batch& batch,
                      const at::Device& device);

/// Checks that the sizes of a batch agree. @throws Error if not
void checkBatch(const Batch& batch);

/// The output head: LM head, pooler and classifier. For sources only: includes ATen.
class OutputHead {
public:
    /// The arguments must outlive this object.
    OutputHead(const ModelSpec& spec, const EmbeddingAndHead& weights, const LayerMath& math)
        : m_spec(spec)
        , m_weights(weights)
        , m_math(math) {}

    /// For decoders: the input of the LM head, [n, hidden] in the plan's type.
    at::Tensor headInput(const at::Tensor& x) const;
    /// For decoders: [n, hidden] -> logits [n, vocab] float32, before the softcap.
    at::Tensor rawLogits(const at::Tensor& x) const;
    /// For decoders: logits after the softcap.
    at::Tensor logits(const at::Tensor& x) const;
    /// For encoders: final states of the first tokens [rows, hidden] -> [rows, classes]. Without a classifier, the
    /// pooled output.
    at::Tensor classes(const at::Tensor& first) const;
    /// For encoders: the pooled output [rows, hidden].
    at::Tensor pooled(const at::Tensor& first) const;

    /// Runner::topTokens(). @param x [tokens, hidden] @param targets [tokens], -1 = no target
    TopTokens topTokens(const at::Tensor& x, std::span<const int> targets, int count) const;

    /// Runner::comparison(). @param x [tokens, hidden] @param targets [tokens], -1 = no target
    DenseComparison comparison(const at::Tensor& x, std::span<const int> targets, const TopTokens& dense) const;

    /// Losses of tokens. @param x [tokens, hidden] @param targets [tokens], -1 = no target
    TokenLosses losses(const at::Tensor& x, std::span<const int> targets) const;

private:
    const ModelSpec& m_spec;
    const EmbeddingAndHead& m_weights;
    const LayerMath& m_math;
};

/// Maximum number of rows of logits in memory at once. Other devices than the CPU get more rows, because each block of
/// rows waits for the one before.
std::int64_t rowsAtOnce(std::int64_t vocab, bool isProcessor = true);

} // namespace secateur
