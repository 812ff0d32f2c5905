#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_spec.h"
#include "analysis/running/run_speed.h"
#include "analysis/training/training_set.h"
#include "analysis/training/training_settings.h"

#include <cstdint>

namespace secateur {

/// The size of training data.
struct TrainingSize {
    std::int64_t examples = 0; ///< sequences to train on
    std::int64_t tokens = 0;   ///< of the sequences to train on
    std::int64_t heldOutTokens = 0;
};
TrainingSize sizeOf(const TrainingSplit& data);

/// Duration of a step of training divided by that of a plain forward pass over its tokens: a forward pass, another one
/// whose graph is kept, and the backward pass, which computes no gradients of frozen weights.
inline constexpr double trainingFactor = 3;

/// The expected course of a training run.
struct TrainingForecast {
    std::int64_t steps = 0; ///< with TrainingSettings::minutes an estimate
    double tokens = 0;      ///< trained on in all steps
    double seconds = 0;     ///< with the scores of the held-out sequences
};

/// @param size of data with at least one example @throws Error if the mask does not fit the model
TrainingForecast trainingForecast(const TrainingSettings& settings, const TrainingSize& size, const RunSpeed& speed,
                                  const ModelSpec& spec, const PruningMask& mask);

} // namespace secateur
