#pragma once

#include "analysis/masks/pruning_mask.h"

#include <cstdint>
#include <optional>
#include <string>

namespace secateur {

/// What a person chose to measure on. Metrics of weights need none of it.
struct MeasureChoice {
    std::string text;                  ///< file or folder; empty = the built-in text
    std::int64_t tokens = 0;           ///< at most; 0 = what the model reads in a minute
    std::optional<PruningMask> mask{}; ///< to run under; absent = the whole model
};

} // namespace secateur
