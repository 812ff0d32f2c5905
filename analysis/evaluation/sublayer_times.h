#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

namespace secateur {

/// Times of the sublayers of the dense model on this machine, from which the time under any mask is estimated: a
/// sublayer takes the share of its time that it keeps of its operations.
class SublayerTimes {
public:
    /// Times passes over one text. Sublayers of layers with the same shape get their mean.
    /// @param positions length of the text; at most the model's context is used @throws as prefillTimes()
    SublayerTimes(const Model& model, int positions, ComputeType type, const Progress& progress);

    /// Estimated seconds of a pass.
    double seconds(const PruningMask& mask) const;

private:
    const Model& m_model;
    int m_positions;
    SublayerSeconds m_times;
};

/// The timing of passes under a mask, alternating with passes under a reference. @throws as prefillTimes()
Prefill timedPass(const Model& model, const PruningMask& mask, const PruningMask& reference, int positions,
                  ComputeType type, const Progress& progress);

} // namespace secateur
