#pragma once

#include "analysis/evaluation/latency.h"
#include "analysis/running/run_speed.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

/// How long one pass over a text takes, by its length: embedding, all layers, and the read-out of the last position
/// alone (of encoders of the first), without a KV cache that outlives it. Batch 1.
struct PrefillRules {
    std::vector<int> lengths; ///< tokens; empty = defaultLengths()
    int warmup = 1;           ///< passes that do not count
    int leastRuns = 3;
    int mostRuns = 10;       ///< reached where runs differ much (TimingRules::relativeError)
    bool bySublayer = false; ///< passes that are watched run besides, and take turns with the others
    std::int64_t memory = 0; ///< bytes that a pass may take beside the weights; 0 = not looked at
    std::vector<int> text =
        {}; ///< its first tokens are taken, again and again where it is short; empty = ordinaryTokens()
    Clock clock = steadyClock();
};

/// Where the seconds of a pass go: means over its runs, which add up to the mean of whole passes. A sublayer's norm
/// counts as the sublayer's; where norms stand behind sums (encoders), that of attention's sum counts as the MLP's. In
/// parallel blocks the shared norm counts as attention's. Clocks are read between sublayers, a device waited for.
struct SublayerSeconds {
    std::vector<double> attention; ///< [layers]; 0 where a mask drops it
    std::vector<double> mlp;       ///< [layers], the sums into the stream included
    double rest = 0;               ///< embedding, read-out, what lies between layers

    double attentionTotal() const;
    double mlpTotal() const;
    double total() const { return attentionTotal() + mlpTotal() + rest; }
};

struct PrefillTiming {
    Timing timing;                             ///< of passes that nobody watched
    std::optional<SublayerSeconds> bySublayer; ///< of those that were, where asked for
};

struct Prefill {
    int tokens = 0;
    PrefillTiming run;
    std::optional<PrefillTiming> reference;
    std::optional<Speedup> speedup; ///< where there is a reference
};

/// Lengths that fit the model's context: 128, 512, 2048; of a smaller one its context alone.
std::vector<int> defaultLengths(const ModelSpec& spec);

/// About how many bytes a pass over one text takes on the processor beside the weights.
std::int64_t passBytes(const ModelSpec& spec, int tokens);

/// @throws Error where a length exceeds the model's context, or its pass the memory it may take; UsageError where it is
/// none
void checkLengths(const Model& model, const PrefillRules& rules);

/// -> one for each length, in their order.
/// @throws as checkLengths(), before anything runs; Cancelled within the time that one layer takes
std::vector<Prefill> prefillTimes(const Model& model, const TimedPlans& plans, const PrefillRules& rules,
                                  const Progress& progress = {});

/// What timing continued prompts takes under one plan, warm-up included and loading left out.
/// @param stepSeconds as stepSeconds()
double latencySeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const LatencyRules& rules,
                      double stepSeconds);

/// What timing passes by length takes under one plan, where runs differ so little that the least of them suffice.
double prefillSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const PrefillRules& rules);

} // namespace secateur
