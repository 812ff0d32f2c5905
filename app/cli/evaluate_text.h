#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/running/runner.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/sequences.h"
#include "app/cli/cli_common.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur::cli {

/// Options of `evaluate` for a text.
struct TextOptions : TextRequest {
    std::int64_t batchTokens = 4096;
    std::int64_t sequenceLength = 0; ///< encoders: maximum tokens of a sequence; 0 = 128
};

/// --text, --field, --protocol, --window, --seq-len, --bos, --max-tokens, --batch-tokens
void addTextOptions(CLI::App& verb, TextOptions& options);

/// A mask of the model, ready to run.
struct PlannedMask {
    EvaluatedMask mask;
    std::shared_ptr<const Plan> plan;
};

/// Reads the text, and appends its warnings to those of the model.
EvaluationText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress);

TextEvaluation evaluateText(const ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens,
                            const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress);

/// The BOS rule that --bos means for sequences and tasks. @param user "tasks" or "encoders", for the message
/// @throws UsageError for modes that only perplexity has
BosRule bosRuleFor(std::optional<BosMode> mode, std::string_view user);

// Names to print: "the built-in text" for the source "built-in"; "dense" for a mask without a name.
std::string shownSource(const std::string& source);
std::string shownMask(const EvaluatedMask& mask);

/// Prints a run and its reference.
void printText(const TextEvaluation& text, const Evaluation& evaluation);
/// Prints several masks and the dense model.
void printRuns(const std::vector<Evaluation>& runs);

/// Reads the sequences for an encoder without a classifier, and appends warnings.
/// @throws UsageError for options of perplexity; Error for texts without documents
SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress);

/// Distance between the pooled outputs of run and reference. @throws Error if it is not defined
PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const PlannedMask& run, const PlannedMask& reference, const Progress& progress);

void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation);

/// Options of `evaluate` for timing.
struct LatencyOptions {
    bool isWanted = false;
    bool wantsGeneration = false; ///< whether an option asks for generation; encoders are then refused
    LatencyRules generation;
    PrefillRules prefill;

    /// Whether generation is timed. For an encoder only if an option asks for it, so that the encoder is refused.
    bool generates(const ModelSpec& spec) const {
        return generation.newTokens > 0 && (spec.family == Family::decoder || wantsGeneration);
    }
};

/// --latency, --prompt-tokens, --new-tokens, --warmup, --runs, --lengths, --by
void addLatencyOptions(CLI::App& verb, LatencyOptions& options);

/// Times generation (decoders) and forward passes by length, and appends warnings.
/// @param text tokens to run on; empty = ordinaryTokens()
void timeModel(Evaluation& evaluation, ReadyModel& ready, LatencyOptions options, const std::vector<int>& text,
               const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress);

/// Prints the times of run and reference.
void printLatency(const Evaluation& evaluation);

} // namespace secateur::cli
