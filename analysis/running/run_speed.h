#pragma once

#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"

#include <cstdint>

namespace secateur {

/// How fast a model runs on this machine, as far as one layer and the read-out tell.
struct RunSpeed {
    double secondsPerOperation = 0; ///< of layers, as layerOperations() counts
    double lmHeadSeconds = 0;      ///< of one position; 0 for encoders
    double loadingSeconds = 0;      ///< until all layers of the dense model have their weights read and converted
};

/// Times the layer with the most operations, the one behind it once, and the read-out on some made-up tokens, which
/// takes less than a second for all but large models. Weights that are converted for it stay with the plan.
/// @param plan of model.runner()
/// @throws Error as the runner; Cancelled
RunSpeed runSpeed(const Model& model, const Plan& plan, const Progress& progress = {});

/// How much a run has to do.
struct RunSize {
    std::int64_t tokens = 0; ///< through all layers, padding included
    int positions = 1;       ///< of a sequence
    std::int64_t read = 0;   ///< positions whose logits are computed
};

/// What a run under a mask takes, without loading. @throws Error when the mask does not fit
double runSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const RunSize& size);

/// What loading under a mask takes, when the dense model's layers are there (then it is the changed ones), or not.
double loadingSeconds(const RunSpeed& speed, const Plan& plan, bool isDenseLoaded);

/// One token alone through all layers under a plan, the read-out included: a step of a text that is written. Runs the
/// whole model, twice where its weights stay. 0 for encoders. @throws Error as the runner; Cancelled
double stepSeconds(const Model& model, const Plan& plan, const Progress& progress = {});

/// Tokens that one dense pass takes a minute for, but 512 at least and 8,192 at most: what interactive work begins
/// with.
std::int64_t interactiveTokens(const RunSpeed& speed, const ModelSpec& spec);

} // namespace secateur
