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

/// Options of `evaluate` about the scored text.
struct TextOptions : TextRequest {
    std::int64_t batchTokens = 4096;
    std::int64_t sequenceLength = 0; ///< for encoders: maximum number of tokens of a sequence; 0 = 128
};

/// Adds --text, --field, --protocol, --window, --seq-len, --bos, --max-tokens and --batch-tokens.
void addTextOptions(CLI::App& verb, TextOptions& options);

/// A mask with a plan under it, ready to run.
struct PlannedMask {
    EvaluatedMask mask;
    std::shared_ptr<const Plan> plan;
    const Model* model = nullptr;  ///< the plan's model
    EvaluatedAdapter adapter = {}; ///< of the model
};

/// Reads the text, and adds its warnings to those of the model.
EvaluationText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress);

/// Scores a text under a mask and under its reference.
TextEvaluation evaluateText(const EvaluationText& text, std::int64_t batchTokens, const PlannedMask& run,
                            const std::optional<PlannedMask>& reference, const Progress& progress);

/// The BOS rule for sequences and tasks that a value of --bos stands for. @param user "tasks" or "encoders", for error
/// messages
/// @throws UsageError for modes that only perplexity has
BosRule bosRuleFor(std::optional<BosMode> mode, std::string_view user);

// Names as they are printed: "the built-in text" for the source "built-in"; "dense" for a mask without a name.
std::string shownSource(const std::string& source);
std::string shownMask(const EvaluatedMask& mask);

/// Prints the losses of a text under a mask and of its reference.
void printText(const TextEvaluation& text, const Evaluation& evaluation);
/// Prints the losses of a text under several masks and of the dense model.
void printRuns(const std::vector<Evaluation>& runs);

/// Reads the sequences for an encoder without a classifier, and adds their warnings to those of the model.
/// @throws UsageError for options of perplexity; Error for texts without documents
SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress);

/// Evaluates the distance between the pooled outputs of run and reference. @throws Error if it is not defined
PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const PlannedMask& run, const PlannedMask& reference, const Progress& progress);

void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation);

/// Options of `evaluate` about timing.
struct LatencyOptions {
    bool isWanted = false;
    bool wantsGeneration = false; ///< whether an option asks for generation, which encoders do not support
    LatencyRules generation;
    PrefillRules prefill;

    /// Whether generation is timed. It is true for an encoder only if an option asks for generation, which then gives
    /// an error.
    bool generates(const ModelSpec& spec) const {
        return generation.newTokens > 0 && (spec.family == Family::decoder || wantsGeneration);
    }
};

/// Adds --latency, --prompt-tokens, --new-tokens, --warmup, --runs, --lengths and --by.
void addLatencyOptions(CLI::App& verb, LatencyOptions& options);

/// Times generation (decoders) and forward passes by length, and adds warnings.
/// @param text tokens to run on; empty = ordinaryTokens()
void timeModel(Evaluation& evaluation, ReadyModel& ready, LatencyOptions options, const std::vector<int>& text,
               const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress);

/// Prints the measured times of the run and of its reference.
void printLatency(const Evaluation& evaluation);

} // namespace secateur::cli
