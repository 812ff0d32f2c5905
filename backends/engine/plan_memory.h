#pragma once

#include "analysis/running/plan.h"

namespace secateur {

/// Whether the weights of two plans of one model stay in memory while runs of both take turns.
bool stayTogether(const Plan& a, const Plan& b);

} // namespace secateur
