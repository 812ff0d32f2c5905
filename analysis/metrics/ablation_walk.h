#pragma once

#include "analysis/metrics/ablation.h"
#include "analysis/metrics/ablation_losses.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace secateur {

// For sources only: pulls in ATen.

/// The whole model's streams on their way up, and from each layer those of the model without one of its parts.
class AblationWalk {
public:
    /// All must outlive it. @throws as measureAblation()
    AblationWalk(const Model& model, const AblationRun& run);

    /// The whole model's losses, and its streams in front of the first layer. @throws Cancelled
    void begin(const Progress& progress);
    /// Takes the streams on to a layer that they have not passed. @throws Cancelled
    void goTo(int layer, const Progress& progress);
    /// @param parts of the layer that the streams are at, those of a request behind each other: they share batches,
    /// which do not depend on who else is asked for
    std::vector<AblationEffect> without(const std::vector<AblationPart>& parts, const Progress& progress);

    const SequenceLosses& losses() const { return m_losses; }

private:
    /// Variants of one batch, which go through the layers above as one batch.
    struct Stack {
        std::size_t batch = 0;
        std::vector<std::size_t> parts;
        std::vector<at::Tensor> streams;
    };
    class Tails;

    using Losses = std::vector<WindowLoss>; ///< by sequence
    Losses noLosses() const { return Losses(m_losses.sequences()); }
    std::vector<Losses> besideEachOther(const std::vector<AblationPart>& parts, const Progress& progress);
    Losses underOwnPlan(const AblationPart& part, const Progress& progress) const;
    std::size_t variantsAtOnce(std::size_t batch) const;
    std::size_t stacks(const std::vector<AblationPart>& parts) const;

    const Model& m_model;
    const AblationRun& m_run;
    SequenceLosses m_losses;
    PaddedBatches m_batches;
    int m_layer = 0;
    std::vector<at::Tensor> m_streams; ///< X_layer of each batch
    Losses m_dense;
};

} // namespace secateur
