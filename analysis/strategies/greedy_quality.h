#pragma once

#include "analysis/running/stream_cache.h"
#include "analysis/metrics/gradient_scalars.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/plan.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// How good a model still is, from what a walk left: of decoders the loss of the next token, of classifiers the share
/// of labels that are right, or without labels of those that are as before the first cut; of encoders without a head
/// how far their pooled output is from what it was then (1 - cos, the mean over the texts). For sources only: pulls in
/// ATen.
class GreedyQuality {
public:
    /// @param scalar whose values walks leave. All must outlive it.
    GreedyQuality(const Model& model, const PaddedBatches& batches, std::span<const int> labels,
                  const GradientScalars& scalars, Scalarisation scalar);

    /// "loss_nats", "acc", "agreement", "pooled_distance"
    std::string_view id() const;
    /// Under a plan. The first call is before the first cut.
    double measure(const Plan& plan, const BackwardTrace& trace);
    /// How much worse one value is than another; negative = better.
    double worsening(double before, double after) const;

private:
    enum class Kind { loss, accuracy, agreement, distance };

    double loss(const Plan& plan, const BackwardTrace& trace) const;
    double share(const at::Tensor& logits);
    double distance(const at::Tensor& pooled);
    at::Tensor outputs(const Plan& plan, const BackwardTrace& trace) const;

    const Model& m_model;
    const PaddedBatches& m_batches;
    const GradientScalars& m_scalars;
    Scalarisation m_scalar;
    Kind m_kind;
    at::Tensor m_labels; ///< [texts] int64, in the order of the batches
    at::Tensor m_before; ///< [texts, hidden] float64
};

} // namespace secateur
