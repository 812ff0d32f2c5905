#pragma once

#include "analysis/masks/mask_wire.h"
#include "analysis/model/far_model.h"
#include "analysis/running/runner.h"

namespace secateur {

/// What a plan is made of. The process that has the model makes its own plan of it.
struct FarPlan {
    PruningMask mask;
    ComputeType type = ComputeType::automatic;
};

inline FarPlan farPlan(const Plan& plan) {
    return {plan.mask(), plan.type()};
}

} // namespace secateur
