#pragma once

#include "analysis/compensation/layer_fit.h"
#include "analysis/running/layer_inputs.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace secateur {

/// The sums of a model's projections over a text under a mask that grows (addSums()). What a change of the mask does
/// not affect is kept, as far as the memory budget allows. For sources only: includes ATen.
class LayerFits {
public:
    /// All arguments must outlive this object, the plan until setPlan(). @param bytes maximum of streams and sums
    /// that are kept
    LayerFits(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences, std::int64_t batchTokens,
              std::int64_t bytes);

    /// Goes on under another plan of the same type.
    void setPlan(const Plan& plan);

    /// The sums for the columns that the plan keeps. canFit() must hold. @throws Cancelled
    FitSums sums(int layer, Projection which, const Progress& progress);
    /// The sums for the output projection if the attention of the layer were bypassed with alpha 1. @throws Cancelled
    FitSums bypassSums(int layer, const Progress& progress);

private:
    struct Known {
        at::Tensor columns; ///< the columns that the sums have
        FitSums sums;
        std::int64_t lastUse = 0;
    };
    using Key = std::pair<int, Projection>;

    FitSums sumsOf(int layer, Projection which, const LayerMask& mask, const Progress& progress);
    void shrink();

    const Model& m_model;
    const Plan* m_plan;
    std::int64_t m_sumBytes; ///< maximum of m_known
    LayerInputs m_inputs;
    std::vector<TokenParts> m_tokens;
    std::map<Key, Known> m_known;
    std::int64_t m_clock = 0;
};

} // namespace secateur
