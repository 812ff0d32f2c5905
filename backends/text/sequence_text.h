#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"
#include "analysis/text/evaluation_text.h"
#include "analysis/text/prompt_tokens.h"
#include "analysis/text/sequences.h"
#include "backends/text/task_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A text to measure a model on, as a person names it.
struct SequenceRequest {
    std::string path;                                        ///< file or folder; empty = the built-in text, or
    std::string task;                                        ///< file of a task, each of whose prompts is a document
    std::string field;                                       ///< of the rows of a .jsonl; empty = whichever they have
    TaskFileOptions taskOptions = {};                        ///< of `task`
    SequenceRules rules = {.length = 0, .mostTokens = 8192}; ///< length 0 = 512, of encoders 128, or the context
};

/// Reads a text and cuts it for a model with the model's own tokenizer (evaluation.md 6). The texts and pairs that a
/// classifier is to label are one sequence each, with their labels.
/// @throws Error naming the text or the model; UsageError for what does not go together; Cancelled
SequenceText readSequenceText(const Model& model, const SequenceRequest& request, const Progress& progress = {});

/// "document", "line", "stream", "windows"; "tokenizer_default", "always", "never", "first_only".
std::string_view name(TextSplit split);
std::string_view name(BosRule rule);
/// @throws UsageError naming the known ones
TextSplit textSplitOf(std::string_view name);
BosRule bosRuleOf(std::string_view name);

/// Reads a text and cuts it for a model with the model's own tokenizer.
/// @throws Error naming the text or the model; UsageError for rules that do not go together; Cancelled
EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress = {});

/// A prompt as the model reads it. @throws Error when the model has no tokenizer that can be read
PromptTokens promptTokens(const Model& model, const std::string& text);

} // namespace secateur
