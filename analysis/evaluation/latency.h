#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// Returns the seconds since a fixed moment, and never goes back.
using Clock = std::function<double()>;
Clock steadyClock();

/// Durations of repeated runs in seconds, without the warm-up runs.
struct Timing {
    std::vector<double> seconds; ///< of each run, in order; at least one

    double mean() const;
    double median() const { return percentile(50); }
    /// With linear interpolation. @param percent 0 to 100
    double percentile(double percent) const;
    /// Standard error of the mean divided by the mean; infinite for a single run.
    double relativeError() const;
};

/// Duration of a reference divided by that of a run: above 1 if the run is faster.
struct Speedup {
    double ratio = 1; ///< of the medians
    double p10 = 1;   ///< 10th percentile of the ratios of the i-th reference run to the i-th run
    double p90 = 1;
};
/// Pairs the i-th runs of both; ignores surplus runs of one of them.
Speedup speedup(const Timing& reference, const Timing& run);

struct TimingRules {
    int warmup = 1; ///< runs of each piece of work that are not counted
    int leastRuns = 3;
    int mostRuns = 10;
    /// After leastRuns, runs continue until Timing::relativeError() of every piece of work is at most this.
    double relativeError = 0.02;
    /// Whether the pieces of work take turns: one run of each, then the next run of each. A temporary slowdown of the
    /// machine then affects all of them. Otherwise all runs of one piece come before those of the next.
    bool takesTurns = true;
};

/// A piece of work. When it returns, the device has finished too. Its progress only checks for cancelling and reports
/// nothing, so that no printing is timed.
using TimedWork = std::function<void(const Progress& quiet)>;

/// Times pieces of work. Reports progress between runs; after the first run a report names the expected seconds until
/// each piece has had leastRuns.
/// @param what name of the work in the reports
/// @returns one timing for each piece
/// @throws UsageError if the rules ask for less than one run; Cancelled as soon as a piece checks its progress
std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what);

/// The plan to time, and a reference plan if there is one.
struct TimedPlans {
    const Plan& run;
    const Plan* reference = nullptr;
    /// Whether the plans take turns, the reference first. Should be false if the weights of both do not fit in memory
    /// together, because each turn would then load weights, and that time would count.
    bool takeTurns = true;
};

/// Rules of the generation latency as AMP defines it (resources/manual/evaluation.md, Latency): batch 1, KV cache,
/// greedy decoding, EOS ignored. The pass over the prompt and all generation steps are timed.
struct LatencyRules {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 10; ///< runs that are not counted; with 0, the first counted run includes converting the weights
    int runs = 20;
    std::vector<int> text = {}; ///< tokens that the prompt is taken from (firstTokens()); empty = ordinaryTokens()
    Clock clock = steadyClock();
};

struct Latency {
    LatencyRules rules;
    Timing run;
    std::optional<Timing> reference;
    std::optional<Speedup> speedup; ///< if there is a reference

    /// New tokens per second of the median run.
    double tokensPerSecond(const Timing& of) const { return rules.newTokens / of.median(); }
};

/// @throws Error for encoders, and if prompt and new tokens exceed the model's context; UsageError for numbers below 1;
/// Cancelled within the time of one layer
Latency generationLatency(const Model& model, const TimedPlans& plans, const LatencyRules& rules,
                          const Progress& progress = {});

/// Random tokens, always the same ones: an input for runs whose content does not matter.
/// @param tokenizer its special tokens are not drawn; null = draws from the whole vocabulary
std::vector<int> ordinaryTokens(const ModelSpec& spec, int count, const Tokenizer* tokenizer = nullptr);

/// The first `count` tokens of a text, which is repeated if it is too short. For an empty text, ordinaryTokens().
std::vector<int> firstTokens(const ModelSpec& spec, const std::vector<int>& text, int count);

} // namespace secateur
