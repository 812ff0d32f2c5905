#pragma once

#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "backends/kernels/packed_matrix.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace secateur {

/// Weights as the engine multiplies them. For sources only: pulls in ATen.
struct Norm {
    NormKind kind = NormKind::rms;
    double epsilon = 0;
    at::Tensor weight; ///< float32, whatever is added or multiplied in already; undefined = there is no norm
    at::Tensor bias;   ///< float32, or undefined

    explicit operator bool() const { return weight.defined(); }
};

struct Linear {
    std::int64_t in = 0;
    std::int64_t out = 0;
    at::Tensor weight;                          ///< [out, in], of the plan's type; or
    std::shared_ptr<const PackedMatrix> packed; ///< the same for the processor
    std::shared_ptr<const PackedMatrix> back;   ///< transposed, for gradients; where they are wanted
    at::Tensor bias;                            ///< float32, or undefined
};

/// Whether weights are kept in a layout of their own for the processor's products, for those with the weight or with
/// what it is transposed, or as plain tensors, as other devices need them.
enum class WeightForm { packed, transposed, plain };

/// How weights are converted.
struct Conversion {
    ComputeType type = ComputeType::float32;
    WeightForm form = WeightForm::packed;
    at::Device device = at::kCPU;
};

/// One layer without what is cut. Attention is `none` where nothing of it is left, not even a bias.
struct PlanLayer {
    LayerSpec spec;              ///< heads, kvHeads, ffn: what is kept
    bool dropped = false;        ///< the layer passes its input on
    std::vector<int> groupBegin; ///< [kvHeads + 1] query heads of each KV head: [groupBegin[g], groupBegin[g + 1])
    std::vector<int> keptHeads;  ///< numbers of the kept heads in the model
    bool hasMlp = true;
    Norm attentionNorm;
    Norm attentionPostNorm;
    Norm mlpNorm;
    Norm mlpPostNorm;
    Norm queryNorm;
    Norm keyNorm;
    Linear projections; ///< queries, keys and values side by side; of valueOnly the values alone
    Linear output;      ///< alpha multiplied in, where no norm follows
    Linear gateUp;      ///< gate, then up; or up alone
    Linear down;
    std::int64_t bytes = 0;
};

/// What stands before the first layer and behind the last.
struct EmbeddingAndHead {
    at::Tensor positionEmbedding; ///< float32
    at::Tensor typeEmbedding;
    Norm embeddingNorm;
    Linear embeddingProjection;
    Norm finalNorm;
    Linear lmHead; ///< out = 0: there is none
    Linear pooler;
    Linear classifierDense;
    Linear classifier;
    std::int64_t bytes = 0;
};

/// @throws Error naming a weight that cannot be read
PlanLayer makePlanLayer(const Model& model, int layer, const LayerMask& mask, const Conversion& conversion);
EmbeddingAndHead makeEmbeddingAndHead(const Model& model, const Conversion& conversion);

/// Bytes that a layer's weights will take.
std::int64_t expectedBytes(const ModelSpec& spec, int layer, const LayerMask& mask, ComputeType type);

} // namespace secateur
