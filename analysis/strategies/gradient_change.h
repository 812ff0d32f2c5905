#pragma once

#include "analysis/base/matrix.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/measure_stages.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Two masks whose gradients are compared (Greedy-Gnorm, figure 2).
struct GradientChangeRequest {
    PruningMask before;
    PruningMask after;
    std::string scalarisation = "auto"; ///< as of the metric gnorm
};

/// ∂F/∂W_q of each layer under the second mask minus that under the first, mean over the sequences, reduced to a cell
/// for each head and each headDim inputs (fewer in the last column): the mean of the entries. Cut units have gradient
/// 0, as with a gate at 0. Layers that share their weights show the same values: the gradient of the shared weights.
/// Layers without heads have no rows.
struct GradientChange {
    std::vector<Matrix> layers; ///< [heads, ceil(hidden / headDim)]
    std::int64_t tokens = 0;    ///< of the text
};

/// @param run gives the dtype of both runs by its plan; the plan's mask does not matter @throws as measureGradient()
GradientChange gradientChange(const Model& model, const GradientChangeRequest& request, const GradientRun& run,
                              const Progress& progress);

} // namespace secateur
