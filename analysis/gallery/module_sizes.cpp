#include "analysis/gallery/module_sizes.h"

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/model/model.h"

#include <algorithm>
#include <array>
#include <span>

namespace secateur {

namespace {

std::int64_t elementsOfModel(const ModelSpec& spec, WeightName which) {
    if (needOf(spec, -1, which) == Need::absent)
        return 0;
    std::int64_t elements = 1;
    for (const std::int64_t extent : expectedShape(spec, -1, which))
        elements *= extent;
    return elements;
}

std::int64_t elementsOfModel(const ModelSpec& spec, std::span<const WeightName> which) {
    std::int64_t elements = 0;
    for (const WeightName one : which)
        elements += elementsOfModel(spec, one);
    return elements;
}

constexpr std::array embeddingWeights{WeightName::embedding, WeightName::positionEmbedding, WeightName::typeEmbedding,
                                      WeightName::embeddingNorm, WeightName::embeddingNormBias};
/// ALBERT's projection from the embeddings to the layers belongs to its encoder.
constexpr std::array projectionWeights{WeightName::embeddingProjection, WeightName::embeddingProjectionBias};
constexpr std::array finalNormWeights{WeightName::finalNorm, WeightName::finalNormBias};
constexpr std::array denseWeights{WeightName::classifierDense, WeightName::classifierDenseBias};

/// Takes `elements` from a rest if it has as many. @returns the number taken
std::int64_t takeFrom(std::int64_t& rest, std::int64_t elements) {
    const std::int64_t taken = rest >= elements ? elements : 0;
    rest -= taken;
    return taken;
}

/// The weights of an encoder above its layers. A card does not tell which of them the checkpoint has, but their sizes
/// follow from its number of parameters.
struct EncoderTop {
    std::int64_t pooler = 0;
    std::int64_t dense = 0; ///< RoBERTa: the dense layer of the classifier
    std::int64_t weight = 0;
    std::int64_t bias = 0;
    std::int64_t other = 0;

    std::int64_t classifier() const { return dense + weight + bias; }
};

EncoderTop encoderTop(const ModelSpec& spec, std::int64_t rest) {
    EncoderTop top;
    const std::int64_t square = elementsOfModel(spec, denseWeights); // as large as the pooler
    if (spec.classes > 0 && spec.firstPosition > 0)                  // RoBERTa's classifier has a dense layer
        top.dense = takeFrom(rest, square);
    else
        top.pooler = takeFrom(rest, square);
    if (spec.classes > 0) {
        top.weight = takeFrom(rest, elementsOfModel(spec, WeightName::classifier));
        top.bias = takeFrom(rest, elementsOfModel(spec, WeightName::classifierBias));
    }
    if (top.pooler == 0)
        top.pooler = takeFrom(rest, square);
    top.other = rest;
    return top;
}

ModuleSize unchanged(std::string_view name, std::int64_t elements) {
    return {name, elements, elements};
}

std::vector<ModuleSize> encoderModules(const ModelCard& model, const Price& price, std::int64_t layerWeights) {
    const std::int64_t layers = layerWeights + elementsOfModel(model.spec, projectionWeights);
    const std::int64_t embeddings = elementsOfModel(model.spec, embeddingWeights);
    const std::int64_t all = price.parameters.all;
    const std::int64_t saved = price.parameters.saved();
    const EncoderTop top = encoderTop(model.spec, std::max<std::int64_t>(0, all - embeddings - layers));
    const std::int64_t base = all - top.classifier();
    std::vector<ModuleSize> modules{{wholeModule, all, all - saved},
                                    {baseModule, base, base - saved},
                                    unchanged("Embeddings", embeddings),
                                    {"Encoder", layers, layers - saved}};
    if (top.pooler > 0)
        modules.push_back(unchanged("Pooler", top.pooler));
    if (top.other > 0)
        modules.push_back(unchanged("Other", top.other));
    if (top.classifier() == 0)
        return modules;
    modules.push_back(unchanged("Classifier", top.classifier()));
    if (top.dense > 0) {
        modules.push_back(unchanged("Dense", top.dense));
        modules.push_back(unchanged("Out_proj", top.weight + top.bias));
    } else {
        modules.push_back(unchanged("Weight", top.weight));
        modules.push_back(unchanged("Bias", top.bias));
    }
    return modules;
}

/// The cuts of the attention of a mask alone, or those of the MLPs alone.
PruningMask cutsOfSublayers(const ModelSpec& spec, const PruningMask& mask, bool ofAttention) {
    PruningMask part(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerMask& own = mask.layer(index);
        LayerMask edited = part.layer(index);
        if (ofAttention) {
            edited.heads = own.heads;
            edited.attention = own.block ? own.attention : AttentionCut::drop;
            edited.alpha = own.block ? own.alpha : 1;
        } else {
            edited.neurons = own.neurons;
            edited.mlp = own.mlp && own.block;
        }
        part.setLayer(index, std::move(edited));
    }
    return part;
}

/// Parameters of all attention sublayers, without norms.
std::int64_t attentionWeights(const ModelSpec& spec, const PriceList& prices) {
    PruningMask dropped(spec);
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        setAttention(dropped, layer, false);
    return prices.price(dropped).layerParameters.saved();
}

std::vector<ModuleSize> decoderModules(const ModelCard& model, const PriceList& prices, const PruningMask& mask) {
    const ModelSpec& spec = model.spec;
    const Price price = prices.price(mask);
    const std::int64_t embeddings = elementsOfModel(spec, embeddingWeights);
    const std::int64_t finalNorm = elementsOfModel(spec, finalNormWeights);
    const std::int64_t attention = attentionWeights(spec, prices);
    const std::int64_t mlps = price.layerParameters.all - attention;
    const std::int64_t norms = prices.layerWeights() - price.layerParameters.all + finalNorm;
    const auto savedBy = [&](bool ofAttention) {
        return prices.price(cutsOfSublayers(spec, mask, ofAttention)).layerParameters.saved();
    };
    const std::int64_t savedNorms = price.parameters.saved() - price.layerParameters.saved();
    const std::int64_t rest = price.parameters.all - embeddings - prices.layerWeights() - finalNorm;
    return {{wholeModule, price.parameters.all, price.parameters.left},
            unchanged("Embeddings", embeddings),
            {"Attention", attention, attention - savedBy(true)},
            {"MLP", mlps, mlps - savedBy(false)},
            {"Norms", norms, norms - savedNorms},
            unchanged(lmHeadModule, std::max<std::int64_t>(0, rest))};
}

} // namespace

std::vector<ModuleSize> moduleSizes(const ModelCard& model, const PruningMask& mask) {
    const PriceList prices(model);
    return model.spec.family == Family::encoder ? encoderModules(model, prices.price(mask), prices.layerWeights())
                                                : decoderModules(model, prices, mask);
}

} // namespace secateur
