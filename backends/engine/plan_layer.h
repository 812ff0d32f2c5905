#pragma once

#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "backends/kernels/packed_matrix.h"
#include "backends/kernels/stored_matrix.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// The weights of a norm. For sources only: includes ATen.
struct Norm {
    NormKind kind = NormKind::rms;
    double epsilon = 0;
    at::Tensor weight; ///< float32, including offset and alpha; undefined = there is no norm
    at::Tensor bias;   ///< float32; undefined = no bias

    explicit operator bool() const { return weight.defined(); }
};

/// A low-rank update of some outputs of a projection: outputs [begin, begin + rows of b) += scale x A^T B^T.
struct LinearUpdate {
    at::Tensor a;           ///< [rank, in] float32
    at::Tensor b;           ///< [outputs, rank] float32
    std::int64_t begin = 0; ///< the first of its outputs
    double scale = 1;
};

/// The inputs of low-rank updates that are dropped (dropout.h).
struct UpdateDropout {
    double probability = 0;
    std::uint64_t key = 0;
};

/// A projection with its bias. One of `weight`, `packed` and `stored` is set.
struct Linear {
    std::int64_t in = 0;
    std::int64_t out = 0;
    at::Tensor weight;                              ///< [out, in] in the plan's type
    std::shared_ptr<const PackedMatrix> packed;     ///< the weight, packed for the CPU
    std::shared_ptr<const PackedMatrix> transposed; ///< the packed transpose, for the backward pass only
    at::Tensor bias;                                ///< float32; undefined = no bias
    std::vector<LinearUpdate> updates = {};         ///< of an adapter
    UpdateDropout dropout = {};                     ///< of the input of all updates
    at::Tensor inputFactors = {}; ///< [in] float32, multiply the input, also of the updates; undefined = 1
    std::shared_ptr<const StoredMatrix> stored = {}; ///< the weight in the file, for steps of generation
};

/// The form of converted weights: packed for products on the CPU, packed together with the transpose for the backward
/// pass, plain tensors for products by ATen, or as the file stores them, where products of few tokens can read that;
/// otherwise packed.
enum class WeightForm { packed, transposed, plain, stored };

/// Settings for the conversion of weights.
struct Conversion {
    ComputeType type = ComputeType::float32;
    WeightForm form = WeightForm::packed;
    at::Device device = at::kCPU;
    bool repeatsValues = false; ///< sets PlanLayer::repeatsValues where attention has values only
};

/// A tensor of the plan's adapters that requires a gradient.
struct AdapterLeaf {
    enum class Part { a, b, weight, factors, bias };

    WeightName weight;
    Part part;
    at::Tensor tensor;
};

/// A layer without its cut units. If the whole attention sublayer is cut, including its bias, spec.attention is `none`.
struct PlanLayer {
    LayerSpec spec;              ///< heads, kvHeads and ffn count the kept units
    bool dropped = false;        ///< whether the block is dropped, so that the layer's output is its input
    std::vector<int> groupBegin; ///< [kvHeads + 1]; first query head of each KV head, and the end
    std::vector<int> keptHeads;  ///< indices of the kept heads in the model
    bool hasMlp = true;
    /// For valueOnly: whether the output projection reads the value of each head, so that heads can have factors.
    /// Otherwise its columns are summed over each KV group.
    bool repeatsValues = false;
    Norm attentionNorm;
    Norm attentionPostNorm;
    Norm mlpNorm;
    Norm mlpPostNorm;
    Norm queryNorm;
    Norm keyNorm;
    Linear projections; ///< queries, keys and values concatenated; for valueOnly the values only
    Linear output;      ///< multiplied by alpha, unless a sandwich norm follows; with the factors of the compensation
    Linear gateUp;      ///< gate and up concatenated, or up only
    Linear down;        ///< with the factors and the bias of the compensation
    std::int64_t bytes = 0;
    std::vector<AdapterLeaf> leaves = {}; ///< tensors of the plan's adapters whose gradients are wanted
};

/// The weights of the embedding and the output head.
struct EmbeddingAndHead {
    at::Tensor tokenEmbedding;    ///< in the stored type; undefined on the CPU, which reads single rows from the model
    at::Tensor positionEmbedding; ///< float32; undefined = none
    at::Tensor typeEmbedding;
    Norm embeddingNorm;
    Linear embeddingProjection;
    Norm finalNorm;
    Linear lmHead; ///< LM head; its `out` is 0 if the model has none
    Linear pooler;
    Linear classifierDense;
    Linear classifier;
    std::int64_t bytes = 0;
    std::vector<AdapterLeaf> leaves = {}; ///< as in PlanLayer
};

/// @throws Error naming a weight that cannot be read
PlanLayer makePlanLayer(const Model& model, int layer, const LayerMask& mask, const Conversion& conversion);
EmbeddingAndHead makeEmbeddingAndHead(const Model& model, const Conversion& conversion);

/// Size in bytes of a layer's converted weights.
std::int64_t expectedBytes(const ModelSpec& spec, int layer, const LayerMask& mask, ComputeType type);

} // namespace secateur
