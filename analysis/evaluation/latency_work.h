#pragma once

#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/running/run_speed.h"

namespace secateur {

/// What timing continued prompts takes under one plan, warm-up included and loading left out.
/// @param stepSeconds as stepSeconds()
double latencySeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const LatencyRules& rules,
                      double stepSeconds);

/// What timing passes by length takes under one plan, where runs differ so little that the least of them suffice.
double prefillSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const PrefillRules& rules);

} // namespace secateur
