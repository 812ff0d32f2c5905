#include "analysis/model/model.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

#include <array>

namespace secateur {

at::Tensor Model::rows(int layer, WeightName name, std::span<const std::int64_t> indices) const {
    return tensor(layer, name).index_select(0, at::tensor(at::ArrayRef(indices.data(), indices.size())));
}

at::Tensor Model::update(int, WeightName) const {
    return {};
}

const Runner& Model::runner() const {
    throw Error("can be inspected, but not run", card().path);
}

const Kernels& Model::kernels() const {
    return plainKernels();
}

namespace {

using Shape = std::vector<std::int64_t>;

const LayerSpec& layerOf(const ModelSpec& spec, int layer) {
    return spec.layers[static_cast<std::size_t>(layer)];
}

Need when(bool condition, Need need = Need::required) {
    return condition ? need : Need::absent;
}

Need needOfModel(const ModelSpec& spec, WeightName name) {
    using enum WeightName;
    const bool encoder = spec.family == Family::encoder;
    const bool biased = spec.norm == NormKind::layer;
    switch (name) {
    case embedding:
        return Need::required;
    case positionEmbedding:
        return when(spec.positions == Positions::learned);
    case typeEmbedding:
        return when(spec.tokenTypes > 0);
    case embeddingNorm:
    case embeddingNormBias:
        return when(encoder);
    case embeddingProjection:
    case embeddingProjectionBias:
        return when(spec.embeddingWidth > 0);
    case finalNorm:
        return when(spec.normPlace != NormPlace::after);
    case finalNormBias:
        return when(spec.normPlace != NormPlace::after && biased);
    case lmHead:
        return when(!encoder && !spec.tiedEmbeddings, Need::optional);
    case lmHeadBias:
        return when(spec.lmHeadBias, Need::optional);
    default: // the weights of the pooler and the classifier
        return when(encoder, Need::optional);
    }
}

Need needOfLayer(const ModelSpec& spec, const LayerSpec& layer, WeightName name) {
    using enum WeightName;
    const bool attention = layer.attention != AttentionKind::none;
    const bool scores = layer.attention == AttentionKind::full;
    const bool values = scores || layer.attention == AttentionKind::valueOnly;
    const bool mlp = layer.ffn > 0;
    const bool biased = spec.norm == NormKind::layer;
    const bool before = spec.normPlace != NormPlace::after;
    const bool mlpBefore = before && spec.normPlace != NormPlace::parallel;
    const bool post = spec.normPlace == NormPlace::sandwich || spec.normPlace == NormPlace::after;
    switch (name) {
    case attentionNorm:
        return when(attention && before);
    case attentionNormBias:
        return when(attention && before && biased);
    case query:
    case key:
        return when(scores);
    case value:
        return when(values);
    case output:
        return when(attention);
    case queryBias:
        return when(scores && layer.queryBias);
    case keyBias:
        return when(scores && layer.keyBias);
    case valueBias:
        return when(values && layer.valueBias);
    case outputBias:
        return when(attention && layer.outputBias);
    case queryNorm:
    case keyNorm:
        return when(scores && layer.normsHeads);
    case attentionPostNorm:
        return when(attention && post);
    case attentionPostNormBias:
        return when(attention && post && biased);
    case mlpNorm:
        return when(mlp && mlpBefore);
    case mlpNormBias:
        return when(mlp && mlpBefore && biased);
    case gate:
        return when(mlp && spec.gatedMlp);
    case gateBias:
        return when(mlp && spec.gatedMlp && layer.gateBias);
    case up:
    case down:
        return when(mlp);
    case upBias:
        return when(mlp && layer.upBias);
    case downBias:
        return when(mlp && layer.downBias);
    case mlpPostNorm:
        return when(mlp && post);
    case mlpPostNormBias:
        return when(mlp && post && biased);
    default:
        return Need::absent;
    }
}

Shape shapeOfModel(const ModelSpec& spec, WeightName name) {
    using enum WeightName;
    const std::int64_t hidden = spec.hidden;
    const std::int64_t width = spec.embeddingWidth > 0 ? spec.embeddingWidth : hidden;
    switch (name) {
    case embedding:
        return {spec.vocab, width};
    case positionEmbedding:
        return {spec.learnedPositions, width};
    case typeEmbedding:
        return {spec.tokenTypes, width};
    case embeddingNorm:
    case embeddingNormBias:
        return {width};
    case embeddingProjection:
        return {hidden, width};
    case lmHead:
        return {spec.vocab, hidden};
    case lmHeadBias:
        return {spec.vocab};
    case pooler:
    case classifierDense:
        return {hidden, hidden};
    case classifier:
        return {spec.classes, hidden};
    case classifierBias:
        return {spec.classes};
    default:
        return {hidden};
    }
}

Shape shapeOfLayer(const ModelSpec& spec, const LayerSpec& layer, WeightName name) {
    using enum WeightName;
    const std::int64_t hidden = spec.hidden;
    const std::int64_t queries = std::int64_t{layer.heads} * layer.headDim;
    const std::int64_t keys = std::int64_t{layer.kvHeads} * layer.headDim;
    switch (name) {
    case query:
        return {queries, hidden};
    case key:
    case value:
        return {keys, hidden};
    case output:
        return {hidden, layer.attention == AttentionKind::linear ? hidden : queries};
    case queryBias:
        return {queries};
    case keyBias:
    case valueBias:
        return {keys};
    case queryNorm:
    case keyNorm:
        return {layer.headDim};
    case gate:
    case up:
        return {layer.ffn, hidden};
    case gateBias:
    case upBias:
        return {layer.ffn};
    case down:
        return {hidden, layer.ffn};
    default:
        return {hidden};
    }
}

} // namespace

std::string_view title(WeightName name) {
    static constexpr std::array<std::string_view, weightNameCount> titles{
        "token embedding",
        "position embedding",
        "token type embedding",
        "norm of the embedding",
        "norm of the embedding (bias)",
        "projection of the embedding",
        "projection of the embedding (bias)",
        "final norm",
        "final norm (bias)",
        "LM head",
        "LM head (bias)",
        "pooler",
        "pooler (bias)",
        "dense layer of the classifier",
        "dense layer of the classifier (bias)",
        "classifier",
        "classifier (bias)",
        "norm before attention",
        "norm before attention (bias)",
        "query projection",
        "key projection",
        "value projection",
        "output projection",
        "query projection (bias)",
        "key projection (bias)",
        "value projection (bias)",
        "output projection (bias)",
        "query norm",
        "key norm",
        "norm after attention",
        "norm after attention (bias)",
        "norm before the MLP",
        "norm before the MLP (bias)",
        "gate projection",
        "up projection",
        "down projection",
        "gate projection (bias)",
        "up projection (bias)",
        "down projection (bias)",
        "norm after the MLP",
        "norm after the MLP (bias)",
    };
    return titles[static_cast<std::size_t>(name)];
}

bool isOfLayer(WeightName name) {
    using enum WeightName;
    return name >= attentionNorm;
}

bool isNorm(WeightName name) {
    using enum WeightName;
    return name == embeddingNorm || name == finalNorm || name == attentionNorm || name == queryNorm ||
           name == keyNorm || name == attentionPostNorm || name == mlpNorm || name == mlpPostNorm;
}

Need needOf(const ModelSpec& spec, int layer, WeightName name) {
    if (isOfLayer(name) != (layer >= 0))
        return Need::absent;
    return layer < 0 ? needOfModel(spec, name) : needOfLayer(spec, layerOf(spec, layer), name);
}

std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, WeightName name) {
    return layer < 0 ? shapeOfModel(spec, name) : shapeOfLayer(spec, layerOf(spec, layer), name);
}

} // namespace secateur
