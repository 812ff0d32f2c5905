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

/// A clock: returns the seconds since a fixed moment, and never goes back.
using Clock = std::function<double()>;
Clock steadyClock();

/// Durations of repeated runs in seconds, without the warm-up runs.
struct Timing {
    std::vector<double> seconds; ///< seconds of each run, in order; at least one run

    double mean() const;
    double median() const { return percentile(50); }
    /// Percentile of the runs, with linear interpolation. @param percent 0 to 100
    double percentile(double percent) const;
    /// Standard error of the mean divided by the mean; infinite for a single run.
    double relativeError() const;
};

/// The duration of a reference divided by that of a run. It is above 1 if the run is faster.
struct Speedup {
    double ratio = 1; ///< ratio of the medians
    double p10 = 1;   ///< 10th percentile of the ratios of the i-th reference run to the i-th run
    double p90 = 1;
};
/// Computes the speed-up from two timings. Pairs the i-th runs; surplus runs of one of them are ignored.
Speedup speedup(const Timing& reference, const Timing& run);

struct TimingRules {
    int warmup = 1; ///< number of runs of each piece of work that are not counted
    int leastRuns = 3;
    int mostRuns = 10;
    /// Runs continue after leastRuns until the Timing::relativeError() of every piece of work is at most this value.
    double relativeError = 0.02;
    /// Whether the pieces of work alternate: one run of each, then the next run of each. A temporary slowdown of the
    /// machine then affects all of them. If false, all runs of one piece come before those of the next.
    bool takesTurns = true;
};

/// A piece of work to time. When it returns, the device must have finished. Its progress checks for cancelling but
/// reports nothing, so that no printing is timed.
using TimedWork = std::function<void(const Progress& quiet)>;

/// Times pieces of work. Reports progress between runs. After the first run, reports state the expected seconds until
/// each piece has run leastRuns times.
/// @param what name of the work in the reports
/// @returns one timing for each piece
/// @throws UsageError if the rules ask for less than one run; Cancelled as soon as a piece checks its progress
std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what);

/// The plan to time, and a reference plan if there is one.
struct TimedPlans {
    const Plan& run;
    const Plan* reference = nullptr;
    /// Whether the runs of the two plans alternate, beginning with the reference. It should be false if the weights of
    /// both plans do not fit in memory together, because each change of plan would then load weights within the timed
    /// run.
    bool takeTurns = true;
};

/// Rules for measuring generation latency, as defined by AMP (resources/manual/evaluation.md, Latency): batch size 1,
/// KV cache, greedy decoding, EOS ignored. The pass over the prompt and all generation steps are timed.
struct LatencyRules {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 10; ///< runs that are not counted; with 0, the first counted run also converts weights
    int runs = 20;
    std::vector<int> text = {}; ///< tokens for the prompt (firstTokens()); empty = ordinaryTokens()
    Clock clock = steadyClock();
};

struct Latency {
    LatencyRules rules;
    Timing run;
    std::optional<Timing> reference;
    std::optional<Speedup> speedup; ///< only set if there is a reference

    /// New tokens per second of the median run.
    double tokensPerSecond(const Timing& of) const { return rules.newTokens / of.median(); }
};

/// @throws Error for encoders, and if prompt and new tokens exceed the model's context; UsageError for numbers below 1;
/// Cancelled within the time of one layer
Latency generationLatency(const Model& model, const TimedPlans& plans, const LatencyRules& rules,
                          const Progress& progress = {});

/// Random tokens, the same for each call. They are an input for runs in which the content does not matter.
/// @param tokenizer its special tokens are not drawn; null = draw from the whole vocabulary
std::vector<int> ordinaryTokens(const ModelSpec& spec, int count, const Tokenizer* tokenizer = nullptr);

/// The first `count` tokens of a text. A text that is too short is repeated. For an empty text, ordinaryTokens().
std::vector<int> firstTokens(const ModelSpec& spec, const std::vector<int>& text, int count);

} // namespace secateur
