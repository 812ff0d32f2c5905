#pragma once

#include "analysis/running/runner.h"

namespace secateur {

/// Whether the weights of two plans of one model fit the memory budget together. If so, runs that alternate between the
/// plans load them only once.
bool stayTogether(const Plan& a, const Plan& b);

} // namespace secateur
