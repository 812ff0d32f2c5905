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

/// Monotonic seconds since a fixed moment.
using Clock = std::function<double()>;
Clock steadyClock();

/// Seconds of repeated runs, without warm-up.
struct Timing {
    std::vector<double> seconds; ///< of each run, in order; at least one

    double mean() const;
    double median() const { return percentile(50); }
    /// With linear interpolation. @param percent 0 to 100
    double percentile(double percent) const;
    /// Standard error of the mean divided by the mean; infinite for a single run.
    double relativeError() const;
};

/// Seconds of a reference divided by seconds of a run; above 1 if the run is faster.
struct Speedup {
    double ratio = 1; ///< of the medians
    double p10 = 1;   ///< percentiles of the ratios of neighbouring runs
    double p90 = 1;
};
/// The i-th runs of both are neighbours; surplus runs of one are ignored.
Speedup speedup(const Timing& reference, const Timing& run);

struct TimingRules {
    int warmup = 1; ///< uncounted runs of each work
    int leastRuns = 3;
    int mostRuns = 10;
    /// After leastRuns, runs continue until relativeError() of every work is at most this.
    double relativeError = 0.02;
    /// Works take turns, so that a temporary slowdown of the machine affects all of them. Otherwise all runs of the
    /// first work come before those of the second.
    bool takesTurns = true;
};

/// A piece of work that is finished when it returns, including the work of the device. Its progress only checks for
/// cancelling and reports nothing, so that no printing is timed.
using TimedWork = std::function<void(const Progress& quiet)>;

/// Times works. Progress is reported between runs, with the expected seconds up to leastRuns after the first run.
/// @param what is timed, for the reports
/// @returns the timing of each work
/// @throws UsageError for fewer than one run; Cancelled as soon as a work checks
std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what);

/// The plan to time, and a reference.
struct TimedPlans {
    const Plan& run;
    const Plan* reference = nullptr;
    /// The plans take turns, the reference first. Should be false if the weights of both do not fit in memory together,
    /// because loading them would be timed.
    bool takeTurns = true;
};

/// Rules of the generation latency after AMP (resources/manual/evaluation.md, Latency): batch 1, KV cache, greedy, EOS
/// is ignored. The timed work is the pass over the prompt and all generation steps.
struct LatencyRules {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 10; ///< uncounted runs; with 0, the first counted run includes the conversion of the weights
    int runs = 20;
    std::vector<int> text = {}; ///< for firstTokens(); empty = ordinaryTokens()
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

/// A fixed draw of tokens, as an arbitrary input.
/// @param tokenizer whose special tokens are left out; null = draw from the whole vocabulary
std::vector<int> ordinaryTokens(const ModelSpec& spec, int count, const Tokenizer* tokenizer = nullptr);

/// The first `count` tokens of a text, which is repeated if it is too short. For an empty text, ordinaryTokens().
std::vector<int> firstTokens(const ModelSpec& spec, const std::vector<int>& text, int count);

} // namespace secateur
