#pragma once

#include "analysis/model/model_card.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

class Kernels;
class Runner;

/// The weights a model may have: matrices as [out, in] however the file keeps them, vectors as [out].
enum class WeightName {
    // Of the model as a whole: asked for as those of layer -1.
    embedding,         ///< [vocab, embeddingWidth]
    positionEmbedding, ///< [learnedPositions, embeddingWidth]
    typeEmbedding,     ///< [tokenTypes, embeddingWidth]
    embeddingNorm,
    embeddingNormBias,
    embeddingProjection, ///< ALBERT's, to the width of the stream
    embeddingProjectionBias,
    finalNorm,
    finalNormBias,
    lmHead,
    lmHeadBias,
    pooler,
    poolerBias,
    classifierDense, ///< RoBERTa's, before the classifier
    classifierDenseBias,
    classifier,
    classifierBias,
    // Of a layer.
    attentionNorm, ///< of the input of attention
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
    attentionPostNorm, ///< of attention's output (NormPlace::sandwich) or of its sum with the stream (after)
    attentionPostNormBias,
    mlpNorm, ///< of the input of the MLP
    mlpNormBias,
    gate,
    up,
    down,
    gateBias,
    upBias,
    downBias,
    mlpPostNorm, ///< as attentionPostNorm
    mlpPostNormBias,
};

inline constexpr auto weightNameCount = static_cast<std::size_t>(WeightName::mlpPostNormBias) + 1;

/// An opened checkpoint. Immutable: every call is const and may come from any thread.
class Model {
public:
    virtual ~Model() = default;

    virtual const ModelCard& card() const = 0;
    const ModelSpec& spec() const { return card().spec; }

    virtual bool has(int layer, WeightName which) const = 0;
    /// As stored (a view of the mapped file where its layout allows, not always contiguous), float32 when the file
    /// holds it quantised. What formats do differently is undone: fused tensors come as their parts, rotary rows in the
    /// half-rotation layout, norms without the 1 that some files add. @throws Error naming file and tensor
    virtual at::Tensor tensor(int layer, WeightName which) const = 0;
    /// Some rows of a matrix, in the order given: what of a quantised file is not asked for is not converted.
    /// @throws Error as tensor()
    virtual at::Tensor rows(int layer, WeightName which, std::span<const std::int64_t> indices) const;
    /// "model.safetensors: model.layers.0.self_attn.q_proj.weight", for messages. Empty when there is none.
    virtual std::string place(int layer, WeightName which) const = 0;
    /// Views show zeros where a file has been cut short since it was opened: asks after they were used.
    /// @throws Error naming the file
    virtual void checkFiles() const {}
    /// Says that a weight will be asked for soon, or not again soon: what the file holds of it may be read ahead, or
    /// leave this process's memory. Numbers never change by it.
    virtual void expect(int, WeightName) const {}
    virtual void release(int, WeightName) const {}
    /// What runs this model on texts. @throws Error when it has weights to look at only
    virtual const Runner& runner() const;
    /// What multiplies this model's weights.
    virtual const Kernels& kernels() const;
    /// "sha256:..." over names, shapes and a sample of the bytes; taken on first use (contract.md, Mask JSON).
    virtual std::string fingerprint() const = 0;
};

enum class Need { absent, optional, required };

/// Whether a weight belongs to a layer rather than to the model as a whole.
bool isOfLayer(WeightName which);
bool isNorm(WeightName which); ///< a norm's weight, not its bias
/// Whether a model of this spec has the weight. Tied embeddings have no lmHead of their own. @param layer -1 = of none
Need needOf(const ModelSpec& spec, int layer, WeightName which);
/// The shape that the spec gives a weight, [out, in] for a matrix.
std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, WeightName which);

} // namespace secateur
