#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/training/training_run.h"

#include <functional>
#include <string>

namespace secateur {

/// A training run that the window starts.
struct RecoveryRequest {
    TrainingSettings settings;
    std::string data; ///< path of the training data; empty = the built-in text
    MaskRecord mask;
    std::string folder;      ///< of the checkpoints, one file for each run
    bool startsAnew = false; ///< whether the checkpoint of an equal run is replaced
};

/// Follows a training run.
using TrainingWatch = std::function<void(const TrainingRun&)>;

} // namespace secateur
