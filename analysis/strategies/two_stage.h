#pragma once

#include "analysis/strategies/prune.h"

#include <memory>

namespace secateur {

/// 2SSP (Sandri et al. 2025; resources/manual/strategies.md, 2SSP): the same number of neurons in each MLP, lowest
/// activations first, then attention sublayers greedily by the loss on one sequence. Measures the activations of the
/// dense model at once. A result has the history of its attention sublayers.
/// @throws UsageError for encoders; BudgetTooLarge
std::unique_ptr<PrunePath> beginTwoStage(const PruneContext& context, const Progress& progress);

/// Cost in forward passes over the text.
double twoStagePasses(const ModelSpec& spec, const PruneRequest& request);

/// What a share of the parameters of attention and MLPs is divided into.
struct TwoStageCounts {
    std::size_t attention = 0; ///< number of attention sublayers
    std::size_t neurons = 0;   ///< number of neurons of each MLP
    bool operator==(const TwoStageCounts&) const = default;
};

/// Sizes of a model for two_stage.
struct TwoStageSizes {
    double all = 0;       ///< parameters of all attention sublayers and MLPs
    double attention = 0; ///< mean parameters of an attention sublayer
    double mlp = 0;       ///< mean parameters of an MLP
    double neurons = 0;   ///< parameters of one neuron of each MLP that may be cut, together
    double layers = 0;    ///< number of attention sublayers
};

/// The counts for a share of all parameters: round(L s^(r / 1.5)) attention sublayers, where r = mlp / attention, and
/// the rest from neurons. Halves are rounded to even. @param share from 0 to 1
TwoStageCounts twoStageCounts(const TwoStageSizes& sizes, double share);

} // namespace secateur
