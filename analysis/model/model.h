#pragma once

#include "analysis/model/model_card.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

class Kernels;
class Runner;

/// The weights that a model may have. Matrices of projections are [out, in], whatever their layout in the file. Vectors
/// are [out]. Embeddings have a row for each token, position or token type.
enum class WeightName {
    // Weights outside of layers. Their layer index is -1.
    embedding,         ///< [vocab, embeddingWidth]
    positionEmbedding, ///< [learnedPositions, embeddingWidth]
    typeEmbedding,     ///< [tokenTypes, embeddingWidth]
    embeddingNorm,
    embeddingNormBias,
    embeddingProjection, ///< ALBERT: from embeddingWidth to the width of the residual stream
    embeddingProjectionBias,
    finalNorm,
    finalNormBias,
    lmHead,
    lmHeadBias,
    pooler,
    poolerBias,
    classifierDense, ///< RoBERTa: dense layer before the classifier
    classifierDenseBias,
    classifier,
    classifierBias,
    // Weights of a layer.
    attentionNorm, ///< norm of the attention's input
    attentionNormBias,
    query,
    key,
    value,
    output,
    queryBias,
    keyBias,
    valueBias,
    outputBias,
    queryNorm, ///< [headDim], norm of each head's query
    keyNorm,
    attentionPostNorm, ///< of the attention's output (NormPlace::sandwich) or its sum with the stream (::after)
    attentionPostNormBias,
    mlpNorm, ///< norm of the MLP's input
    mlpNormBias,
    gate,
    up,
    down,
    gateBias,
    upBias,
    downBias,
    mlpPostNorm, ///< norm of the MLP's output or sum, like attentionPostNorm
    mlpPostNormBias,
};

inline constexpr auto weightNameCount = static_cast<std::size_t>(WeightName::mlpPostNormBias) + 1;

/// The name of a weight for messages: "query projection".
std::string_view title(WeightName name);

/// An open checkpoint. Immutable: any thread may call its functions.
class Model {
public:
    virtual ~Model() = default;

    virtual const ModelCard& card() const = 0;
    const ModelSpec& spec() const { return card().spec; }

    virtual bool has(int layer, WeightName name) const = 0;
    /// A weight in the stored type; in float32 if the file stores it quantised. If the layout allows it, the tensor is
    /// a view of the mapped file. It is not always contiguous. Differences between file formats are removed: fused
    /// tensors are split, rotary rows are in the half-rotation layout, and the 1 that some files add to norms is
    /// subtracted.
    /// @throws Error naming file and tensor
    virtual at::Tensor tensor(int layer, WeightName name) const = 0;
    /// Some rows of a matrix, in the order of `indices`. Only these rows of a quantised matrix are converted.
    /// @throws Error as tensor()
    virtual at::Tensor rows(int layer, WeightName name, std::span<const std::int64_t> indices) const;
    /// What an adapter adds to a projection, [out, in], float32; tensor() contains it. Undefined = nothing.
    virtual at::Tensor update(int layer, WeightName name) const;
    /// File and tensor of a weight for messages: "model.safetensors: model.layers.0.self_attn.q_proj.weight". Empty if
    /// the model does not have the weight.
    virtual std::string place(int layer, WeightName name) const = 0;
    /// Checks that no file was truncated since it was opened, because views of a truncated file contain zeros. Call it
    /// after views were used.
    /// @throws Error naming the file
    virtual void checkFiles() const {}
    /// A hint that a weight will be needed soon. Its pages may be read ahead.
    virtual void expect(int, WeightName) const {}
    /// A hint that a weight will not be needed soon. Its pages may be removed from memory.
    virtual void release(int, WeightName) const {}
    /// The runner of this model. @throws Error if this model can only be inspected
    virtual const Runner& runner() const;
    /// The kernels for weight metrics, on the model's device.
    virtual const Kernels& kernels() const;
    /// The fingerprint of the checkpoint: "sha256:..." over names, shapes and a sample of the bytes. It is computed at
    /// the first call (see Digests and fingerprint in resources/manual/formats.md).
    virtual std::string fingerprint() const = 0;
};

/// Whether a model cannot, may or must have a weight.
enum class Need { absent, optional, required };

/// Whether a weight belongs to a layer.
bool isOfLayer(WeightName name);
bool isNorm(WeightName name); ///< whether it is the weight of a norm, not its bias
/// Whether a model of this spec cannot, may or must have the weight. If embeddings are tied, lmHead is absent.
/// @param layer -1 = outside of the layers
Need needOf(const ModelSpec& spec, int layer, WeightName name);
/// The shape that a weight has by the spec; [out, in] for a matrix.
std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, WeightName name);

} // namespace secateur
