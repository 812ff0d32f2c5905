#pragma once

#include "analysis/base/matrix.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/measure_stages.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Two masks under which gradients are compared (Greedy-Gnorm, figure 2).
struct GradientChangeRequest {
    PruningMask before;
    PruningMask after;
    std::string scalarisation = "auto"; ///< value of the option `scalarisation` of the metric gnorm
};

/// ∂F/∂W_q of each layer under the second mask minus that under the first mask, averaged over the sequences. A cell is
/// the mean over the rows of one head and headDim columns (fewer in the last cell). The gradient of cut units is 0, as
/// with a gate at 0. Layers that share weights have the same values: the gradient of the shared weights. Layers without
/// heads have no rows.
struct GradientChange {
    std::vector<Matrix> layers; ///< [heads, ceil(hidden / headDim)]
    std::int64_t tokens = 0;    ///< number of tokens of the text
};

/// Measures the change. @param run both masks run in the dtype of its plan; the plan's own mask is ignored @throws as
/// measureGradient()
GradientChange gradientChange(const Model& model, const GradientChangeRequest& request, const GradientRun& run,
                              const Progress& progress);

} // namespace secateur
