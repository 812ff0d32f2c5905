#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/text/evaluation_text.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
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

} // namespace secateur::cli
