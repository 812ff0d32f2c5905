#pragma once

#include "analysis/running/runner.h"

namespace secateur {

/// Whether the weights of two plans of one model fit the memory budget together, so that alternating runs of both read
/// them once.
bool stayTogether(const Plan& a, const Plan& b);

} // namespace secateur
