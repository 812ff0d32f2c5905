#pragma once

#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/evaluation/timing.h"
#include "analysis/text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

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
