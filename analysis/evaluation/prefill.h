#pragma once

#include "analysis/evaluation/latency.h"
#include "analysis/running/run_speed.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

/// Rules for timing forward passes over texts of several lengths. A pass computes the embedding, all layers, and the
/// logits of the last position (for encoders: the output of the first position). The batch size is 1, without KV cache.
struct PrefillRules {
    std::vector<int> lengths; ///< numbers of tokens; empty = defaultLengths()
    int warmup = 1;           ///< number of passes that are not counted
    int leastRuns = 3;
    int mostRuns = 10;          ///< maximum, for durations that differ much (TimingRules::relativeError)
    bool bySublayer = false;    ///< whether to time sublayers too, in additional passes that alternate with whole ones
    std::int64_t memory = 0;    ///< maximum bytes of a pass in addition to the weights; 0 = not checked
    std::vector<int> text = {}; ///< tokens for the inputs (firstTokens()); empty = ordinaryTokens()
    Clock clock = steadyClock();
};

/// Seconds of each sublayer in a pass. They are means over the runs, and their sum is the mean of whole passes. A norm
/// counts as part of its sublayer. There are two exceptions: in post-norm models, the norm of the sum with the
/// attention update counts as part of the MLP; in a parallel block, the shared norm counts as part of attention. The
/// device is synchronised between sublayers.
struct SublayerSeconds {
    std::vector<double> attention; ///< [layers]; 0 in layers without attention
    std::vector<double> mlp;       ///< [layers], including the additions to the residual stream
    double rest = 0;               ///< embedding, LM head and the time between layers
    /// Sums over the layers in each counted pass; empty in sessions of older versions.
    std::vector<double> attentionRuns = {};
    std::vector<double> mlpRuns = {};

    double attentionTotal() const;
    double mlpTotal() const;
    double total() const { return attentionTotal() + mlpTotal() + rest; }
};

struct PrefillTiming {
    Timing timing;                             ///< timing of whole passes
    std::optional<SublayerSeconds> bySublayer; ///< means over the additional passes; empty = not requested
};

struct Prefill {
    int tokens = 0;
    PrefillTiming run;
    std::optional<PrefillTiming> reference;
    std::optional<Speedup> speedup; ///< only set if there is a reference
};

/// The lengths 128, 512 and 2048 that fit the model's context. If none of them fits, the length of the context.
std::vector<int> defaultLengths(const ModelSpec& spec);

/// Estimated bytes that a pass over one text needs on the CPU in addition to the weights.
std::int64_t passBytes(const ModelSpec& spec, int tokens);

/// Checks the lengths. @throws Error if a length exceeds the model's context, or its pass needs more than rules.memory;
/// UsageError for lengths below 1
void checkLengths(const Model& model, const PrefillRules& rules);

/// Times the passes. @returns one result for each length, in order
/// @throws as checkLengths(), before anything runs; Cancelled within the time of one layer
std::vector<Prefill> prefillTimes(const Model& model, const TimedPlans& plans, const PrefillRules& rules,
                                  const Progress& progress = {});

/// Expected seconds of generationLatency() under one plan, including the warm-up but not the loading of weights.
/// @param stepSeconds the result of stepSeconds()
double latencySeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const LatencyRules& rules,
                      double stepSeconds);

/// Expected seconds of prefillTimes() under one plan, with the minimum number of runs.
double prefillSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const PrefillRules& rules);

} // namespace secateur
