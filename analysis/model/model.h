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

/// The weights that a model may have. Matrices of projections are always [out, in], whatever the layout of the file.
/// Vectors are [out]. Embeddings have one row for each token, position or token type.
enum class WeightName {
    // Of the model as a whole; their layer is -1.
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
    // Of a layer.
    attentionNorm, ///< of attention's input
    attentionNormBias,
    query,
    key,
    value,
    output,
    queryBias,
    keyBias,
    valueBias,
    outputBias,
    queryNorm, ///< [headDim], of each head's query
    keyNorm,
    attentionPostNorm, ///< of attention's output (NormPlace::sandwich) or of its sum with the stream (NormPlace::after)
    attentionPostNormBias,
    mlpNorm, ///< of the MLP's input
    mlpNormBias,
    gate,
    up,
    down,
    gateBias,
    upBias,
    downBias,
    mlpPostNorm, ///< like attentionPostNorm
    mlpPostNormBias,
};

inline constexpr auto weightNameCount = static_cast<std::size_t>(WeightName::mlpPostNormBias) + 1;

/// "query projection", for messages.
std::string_view title(WeightName name);

/// An open checkpoint. Immutable: every call is const and may come from any thread.
class Model {
public:
    virtual ~Model() = default;

    virtual const ModelCard& card() const = 0;
    const ModelSpec& spec() const { return card().spec; }

    virtual bool has(int layer, WeightName name) const = 0;
    /// The weight in the stored type, or in float32 if the file holds it quantised. If the layout allows, it is a view
    /// of the mapped file; it is not always contiguous. Differences between formats are undone: fused tensors are
    /// split, rotary rows have the half-rotation layout, and the 1 that some files add to norms is subtracted.
    /// @throws Error naming file and tensor
    virtual at::Tensor tensor(int layer, WeightName name) const = 0;
    /// Some rows of a matrix, in the given order. Of a quantised matrix only these rows are converted.
    /// @throws Error as tensor()
    virtual at::Tensor rows(int layer, WeightName name, std::span<const std::int64_t> indices) const;
    /// "model.safetensors: model.layers.0.self_attn.q_proj.weight", for messages. Empty if the model has no such
    /// weight.
    virtual std::string place(int layer, WeightName name) const = 0;
    /// Checks that no file was truncated since it was opened: views of a truncated file contain zeros. To be called
    /// after views were used.
    /// @throws Error naming the file
    virtual void checkFiles() const {}
    /// Hints that a weight will be needed soon: its pages may be read ahead.
    virtual void expect(int, WeightName) const {}
    /// Hints that a weight will not be needed soon: its pages may be dropped from memory.
    virtual void release(int, WeightName) const {}
    /// The runner of this model. @throws Error if this model can only be inspected
    virtual const Runner& runner() const;
    /// The kernels for weight metrics, on the model's device.
    virtual const Kernels& kernels() const;
    /// "sha256:..." over names, shapes and a sample of the bytes; computed on first use (see Digests and fingerprint in
    /// resources/manual/formats.md).
    virtual std::string fingerprint() const = 0;
};

/// Whether a model cannot, may or must have a weight.
enum class Need { absent, optional, required };

/// Whether a weight belongs to a layer rather than to the model as a whole.
bool isOfLayer(WeightName name);
bool isNorm(WeightName name); ///< whether it is a norm's weight, not its bias
/// Whether a model of this spec cannot, may or must have the weight. With tied embeddings lmHead is absent.
/// @param layer -1 = of the model as a whole
Need needOf(const ModelSpec& spec, int layer, WeightName name);
/// The shape that a weight has by the spec; [out, in] for a matrix.
std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, WeightName name);

} // namespace secateur
