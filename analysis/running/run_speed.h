#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <cstdint>

namespace secateur {

/// Speed of a model on this machine, estimated from one layer and the LM head.
struct RunSpeed {
    double secondsPerOperation = 0; ///< of layers, as layerOperations() counts them
    double lmHeadSeconds = 0;       ///< per position; 0 for encoders
    double loadingSeconds = 0;      ///< to read and convert the weights of all layers of the dense model
};

/// Times the layer with the most operations, the next layer once, and the LM head on synthetic tokens: less than a
/// second except for large models. Weights converted for it stay with the plan.
/// @param plan of model.runner()
/// @throws Error as the runner; Cancelled
RunSpeed runSpeed(const Model& model, const Plan& plan, const Progress& progress = {});

/// Amount of work of a run.
struct RunSize {
    std::int64_t tokens = 0; ///< through all layers, padding included
    int positions = 1;       ///< of a sequence
    std::int64_t read = 0;   ///< positions at which logits are computed
};

/// Estimated time of a run under a mask, without loading. @throws Error if the mask does not fit the model
double runSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const RunSize& size);

/// Estimated time of loading under a mask. @param isDenseLoaded the dense model's layers are loaded: only the changed
/// ones count
double loadingSeconds(const RunSpeed& speed, const Plan& plan, bool isDenseLoaded);

/// Time of one token through all layers and the LM head under a plan: one step of generation. Runs the whole model,
/// twice if the plan is resident. 0 for encoders. @throws Error as the runner; Cancelled
double stepSeconds(const Model& model, const Plan& plan, const Progress& progress = {});

/// Number of tokens that one dense pass takes in a minute, between 512 and 8,192: the default size of a text in
/// interactive work.
std::int64_t interactiveTokens(const RunSpeed& speed, const ModelSpec& spec);

} // namespace secateur
