#include "analysis/evaluation/latency_work.h"

#include <algorithm>

namespace secateur {

double latencySeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const LatencyRules& rules,
                      double stepSeconds) {
    const RunSize prompt{rules.promptTokens, rules.promptTokens, 1};
    // A short prompt takes no less than a token: its weights have to be read.
    const double begun = std::max(stepSeconds, runSeconds(speed, spec, mask, prompt));
    return (rules.warmup + rules.runs) * (begun + rules.newTokens * stepSeconds);
}

double prefillSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask,
                      const PrefillRules& rules) {
    double seconds = 0;
    for (const int tokens : rules.lengths.empty() ? defaultLengths(spec) : rules.lengths)
        seconds += runSeconds(speed, spec, mask, {tokens, tokens, 1});
    return (rules.warmup + rules.leastRuns) * (rules.bySublayer ? 2 : 1) * seconds;
}

} // namespace secateur
