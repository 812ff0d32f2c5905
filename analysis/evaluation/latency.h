#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/text/tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// Seconds since any moment that stays the same; never goes back.
using Clock = std::function<double()>;
Clock steadyClock();

/// How long the runs of one thing took, those of the warm-up left out.
struct Timing {
    std::vector<double> seconds; ///< of each run, in order; at least one

    double mean() const;
    double median() const { return percentile(50); }
    /// Linear between neighbours. @param percent 0 to 100
    double percentile(double percent) const;
    /// Standard error of the mean, over the mean; infinite for a single run.
    double relativeError() const;
};

/// How many times as fast runs are as those of a reference.
struct Speedup {
    double ratio = 1; ///< of the medians: the reference's seconds over the run's, above 1 where the run is faster
    double p10 = 1;   ///< percentiles of the ratios of neighbouring runs, each with the one it took turns with
    double p90 = 1;
};
/// Runs beyond those that the other has too have no neighbour.
Speedup speedup(const Timing& reference, const Timing& run);

struct TimingRules {
    int warmup = 1; ///< runs of each work that come first and do not count
    int leastRuns = 3;
    int mostRuns = 10;
    /// Between least and most, runs go on until no work's relativeError() exceeds this.
    double relativeError = 0.02;
    /// First one run of each work, then the next of each: what slows the machine for a while slows all of them. Else
    /// all runs of the first work, then all of the second.
    bool takesTurns = true;
};

/// Done when it returns, device included. The progress it is given tells nobody anything, so that nobody's printing or
/// waiting is timed, and throws Cancelled.
using TimedWork = std::function<void(const Progress& quiet)>;

/// Times works. Reports stand between runs; from the end of the first run on they say how many seconds are left, of
/// the least runs. -> [works]
/// @throws UsageError for less than one run; Cancelled as soon as a work checks
std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what);

/// A plan of a model's runner, and one to compare it with.
struct TimedPlans {
    const Plan& run;
    const Plan* reference = nullptr;
    /// Runs of the two follow each other in turns, the reference first. Where the weights of both do not stay in memory
    /// together that would time their coming and going: all runs of one should come before those of the other.
    bool takeTurns = true;
};

/// How long it takes to continue a prompt (methods.md 10, after AMP): batch 1, KV cache, the likeliest token each time,
/// nothing ends a text early. What is timed is the prompt's pass and all new tokens, as the runner is asked for them.
struct LatencyRules {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 10; ///< runs that do not count; with none the first run also converts the weights
    int runs = 20;
    std::vector<int> text = {}; ///< whose first tokens are the prompt, again and again where it is short; empty =
                                ///< ordinaryTokens()
    Clock clock = steadyClock();
};

struct Latency {
    LatencyRules rules;
    Timing run;
    std::optional<Timing> reference;
    std::optional<Speedup> speedup; ///< where there is a reference

    /// New tokens in one second of a median run.
    double tokensPerSecond(const Timing& of) const { return rules.newTokens / of.median(); }
};

/// @throws Error for encoders and where prompt and new tokens do not fit the model's context; UsageError for numbers
/// that are too small; Cancelled within the time that one layer takes
Latency generationLatency(const Model& model, const TimedPlans& plans, const LatencyRules& rules,
                          const Progress& progress = {});

/// Tokens to run a model on when it does not matter which: the same draw each time.
/// @param tokenizer whose special tokens are left out; null = any of the vocabulary
std::vector<int> ordinaryTokens(const ModelSpec& spec, int count, const Tokenizer* tokenizer = nullptr);

/// The first tokens of a text, or of it again and again. Of an empty one, ordinaryTokens().
std::vector<int> firstTokens(const ModelSpec& spec, const std::vector<int>& text, int count);

} // namespace secateur
