#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/running/plan.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/sequences.h"
#include "app/cli/cli_common.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// What `evaluate` is told of a text.
struct TextOptions : TextRequest {
    std::int64_t batchTokens = 4096;
    std::int64_t sequenceLength = 0; ///< of encoders; 0 = 128
};

/// --text, --field, --protocol, --window, --seq-len, --bos, --max-tokens, --batch-tokens
void addTextOptions(CLI::App& verb, TextOptions& options);

/// A mask of the model, ready to run.
struct Contender {
    EvaluatedMask mask;
    std::shared_ptr<const Plan> plan;
};

/// The text, with what there is to say of it among the model's warnings.
EvaluationText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress);

TextEvaluation evaluateText(const ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens,
                            const Contender& run, const std::optional<Contender>& reference, const Progress& progress);

/// For people: "the built-in text" for sourceName()'s "built-in", "dense" where a mask has no name.
std::string shownSource(const std::string& source);
std::string shownMask(const EvaluatedMask& mask);

/// For people: a run, and what it is compared with.
void printText(const TextEvaluation& text, const Evaluation& evaluation);
/// For people: several masks beside the dense model.
void printRuns(const std::vector<Evaluation>& runs);

/// The sequences that an encoder without a head is given, with what there is to say of them among the warnings.
/// @throws UsageError for options that go with perplexity alone; Error for texts without documents
SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress);

/// How far the run moves the pooled output. @throws Error when there is nothing to compare it with
PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const Contender& run, const Contender& reference, const Progress& progress);

/// For people.
void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation);

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
