#pragma once

#include "analysis/evaluation/evaluation.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_text.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <vector>

namespace secateur::cli {

/// What `evaluate` is told of timing.
struct LatencyOptions {
    bool isAsked = false;
    bool wantsGeneration = false; ///< named, so that a model that cannot is refused
    LatencyRules generation;
    PrefillRules prefill;

    /// Whether prompts are continued: of an encoder only where that was asked for, to be refused.
    bool generates(const ModelSpec& spec) const {
        return generation.newTokens > 0 && (spec.family == Family::decoder || wantsGeneration);
    }
};

/// --latency, --prompt-tokens, --new-tokens, --warmup, --runs, --lengths, --by
void addLatencyOptions(CLI::App& verb, LatencyOptions& options);

/// Times continued prompts, of decoders, and passes by length; what makes times doubtful is added to the warnings.
/// @param text tokens to run on; empty = any ordinary ones
void timeModel(Evaluation& evaluation, ReadyModel& ready, LatencyOptions options, const std::vector<int>& text,
               const Contender& run, const std::optional<Contender>& reference, const Progress& progress);

/// For people: runs, and what they are compared with.
void printLatency(const Evaluation& evaluation);

} // namespace secateur::cli
