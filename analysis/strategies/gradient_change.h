#pragma once

#include "analysis/base/matrix.h"
#include "analysis/metrics/measure_gradient.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Two masks whose gradients are held against each other (Greedy-Gnorm, figure 2).
struct GradientChangeRequest {
    PruningMask before;
    PruningMask after;
    std::string scalarisation = "auto"; ///< as of the metric gnorm
};

/// ∂F/∂W_q of each layer under the second mask less that under the first, mean over the sequences, in small: a row for
/// each head, and a column for headDim of its inputs (the last one for what is left), each cell the mean of the entries
/// that it stands for. What a mask cuts has the gradient 0, as gates have it. Layers that share their weights show the
/// same: the gradient of the weights that they share. Layers without heads have no rows.
struct GradientChange {
    std::vector<Matrix> layers; ///< [heads, ceil(hidden / headDim)]
    std::int64_t tokens = 0;    ///< that were read
};

/// @param run whose plan's type is that of both runs; its mask does not matter @throws as measureGradient()
GradientChange gradientChange(const Model& model, const GradientChangeRequest& request, const GradientRun& run,
                              const Progress& progress);

} // namespace secateur
