#pragma once

#include "analysis/running/runner.h"

#include <cstdint>

namespace secateur {

/// Whether the weights of two plans of one model fit the memory budget together. If they do, runs that alternate
/// between the plans load weights only once.
bool stayTogether(const Plan& a, const Plan& b);

/// Bytes of weights that a run holds in memory.
struct HeldWeights {
    ComputeType type;       ///< never automatic
    std::int64_t converted; ///< weights of a plan of this type, if the memory budget holds them all
    std::int64_t stored;    ///< bytes of the file that generation reads instead; 0 = it needs the converted weights
};

/// What the weights of a model take in memory on the CPU. @param type automatic = the one that a run takes by itself
HeldWeights heldWeights(const Model& model, const PruningMask& mask, ComputeType type);

} // namespace secateur
