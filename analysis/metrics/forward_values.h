#pragma once

#include "analysis/metrics/forward_metrics.h"
#include "analysis/metrics/layer_sums.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/masks/pruning_mask.h"

#include <map>
#include <utility>
#include <vector>

namespace secateur {

// From sums to values. For sources only: pulls in ATen.

/// What a mask leaves of a layer, by the model's numbers.
struct KeptUnits {
    std::vector<std::size_t> heads; ///< none where attention has no scores
    std::vector<std::size_t> neurons;
    bool block = true;

    KeptUnits(const LayerSpec& spec, const LayerMask& mask);
};

/// Of the columns of a matrix [hidden, width].
struct ColumnSizes {
    std::vector<double> magnitudes; ///< mean_o |W_oj|
    std::vector<double> squares;    ///< sum_o W_oj^2
};

/// What the matrices that heads and neurons write with are like; each is read once.
class WritingWeights {
public:
    /// @param type of the products that columns of heads are for
    /// @param keeps whether columns of heads stay in memory between batches
    WritingWeights(const Model& model, ComputeType type, bool keeps)
        : m_model(model)
        , m_type(type)
        , m_keeps(keeps) {}

    const ModelSpec& spec() const { return m_model.spec(); }
    const ColumnSizes& columns(int layer, WeightName which);
    /// [heads, hidden, headDim] beside `context`, of the kept heads: bfloat16 where products are, else float32.
    at::Tensor ofHeads(int layer, const std::vector<std::size_t>& heads, const at::Tensor& context);

private:
    const Model& m_model;
    ComputeType m_type;
    bool m_keeps;
    std::map<std::pair<int, WeightName>, ColumnSizes> m_columns;
    std::map<int, at::Tensor> m_heads;
};

/// A metric of one layer from its sums, a value for each kept unit; NaN where there is none. Not of attention maps.
std::vector<double> valuesOf(const MetricRequest& request, const LayerSums& sums, int layer, const KeptUnits& kept,
                             WritingWeights& weights);

} // namespace secateur
