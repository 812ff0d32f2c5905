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
    std::string scalarisation = "auto"; ///< as the option of the metric gnorm
};

/// ∂F/∂W_q of each layer under the second mask minus that under the first, averaged over the sequences. A cell is the
/// mean over one head's rows and headDim columns (fewer in the last cell). Cut units have gradient 0, as with a gate at
/// 0. Layers that share weights have the same values, the gradient of the shared weights. Layers without heads have no
/// rows.
struct GradientChange {
    std::vector<Matrix> layers; ///< [heads, ceil(hidden / headDim)]
    std::int64_t tokens = 0;    ///< number of tokens of the text
};

/// @param run both masks run in the dtype of its plan; the plan's own mask has no effect @throws as measureGradient()
GradientChange gradientChange(const Model& model, const GradientChangeRequest& request, const GradientRun& run,
                              const Progress& progress);

} // namespace secateur
