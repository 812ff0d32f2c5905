#pragma once

#include "analysis/figures/figure.h"
#include "analysis/training/training_run.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

/// The losses of a training run so far.
struct TrainingCurve {
    std::vector<StepRecord> records;
    std::vector<HeldOutScore> scores;
    std::int64_t steps = 0;          ///< number of all steps; 0 while it is not known
    std::optional<double> denseNats; ///< held-out loss of the dense model

    /// The score with the lowest loss after the first step; null if there is none.
    const HeldOutScore* best() const;
};

/// Number of the latest steps over which the loss of a run is averaged.
inline constexpr std::size_t averagedSteps = 20;

/// The mean loss of the latest averagedSteps steps; NaN without steps.
double recentNats(const TrainingCurve& curve);

/// The losses over the steps: of each step, averaged over the latest steps, and of the held-out sequences.
Figure trainingFigure(const TrainingCurve& curve);

} // namespace secateur
