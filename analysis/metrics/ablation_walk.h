#pragma once

#include "analysis/evaluation/perplexity.h"
#include "analysis/metrics/ablation.h"
#include "analysis/metrics/variant_walk.h"

#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// The paired difference of the mean losses of two runs on the same sequences: run minus reference.
/// @param run, reference a loss for each sequence
AblationEffect riseOf(const std::vector<WindowLoss>& run, const std::vector<WindowLoss>& reference);

/// Runs the residual streams of the whole model from layer to layer. At each layer, runs the rest of the model without
/// one of the layer's units at a time.
class AblationWalk {
public:
    /// All arguments must outlive this object. @throws as measureAblation()
    AblationWalk(const Model& model, const AblationRun& run);

    /// Computes the whole model's losses. @throws Cancelled
    void begin(const Progress& progress);
    /// Runs the streams up to the input of a layer. @param layer the current layer or a later one @throws Cancelled
    void goTo(int layer, const Progress& progress);
    /// The effect of removing each part alone.
    /// @param parts units of the layer that goTo() reached. Parts that run in one batch affect each other's rounding,
    /// and values must not depend on other requests; therefore only parts of one request do
    std::vector<AblationEffect> without(const std::vector<AblationPart>& parts, const Progress& progress);

    const SequenceLosses& losses() const { return m_walk.losses(); }

private:
    VariantWalk m_walk;
    std::vector<WindowLoss> m_dense;
    int m_layer = 0;
};

} // namespace secateur
