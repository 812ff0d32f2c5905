#pragma once

#include "analysis/running/runner.h"

namespace secateur {

/// Whether the weights of two plans of one model fit the memory budget together. If they do, runs that alternate
/// between the plans load weights only once.
bool stayTogether(const Plan& a, const Plan& b);

} // namespace secateur
