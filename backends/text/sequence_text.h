#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/model.h"
#include "analysis/tasks/task.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"
#include "backends/text/task_file.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A text to measure a model on, by its place.
struct SequenceRequest {
    std::string path;                                        ///< file or folder; empty = `task`, or the built-in text
    std::string task;                                        ///< file of a task; each prompt is a document
    std::string field;                                       ///< of the rows of a .jsonl; empty = the first usual one
    TaskFileOptions taskOptions = {};                        ///< of `task`
    SequenceRules rules = {.length = 0, .mostTokens = 8192}; ///< length 0 = 512, of encoders 128, or the context
};

/// Reads a text and cuts it into sequences with the model's own tokenizer (resources/manual/metrics.md, Calibration
/// text). The texts and pairs of a classification task are one sequence each, with their labels.
/// @throws Error naming the text or the model; UsageError for contradictory options; Cancelled
SequenceText readSequenceText(const Model& model, const SequenceRequest& request, const Progress& progress = {});

/// "document", "line", "stream", "windows"; "tokenizer_default", "always", "never", "first_only".
std::string_view name(TextSplit split);
std::string_view name(BosRule rule);
/// @throws UsageError naming the known ones
TextSplit textSplitOf(std::string_view name);
BosRule bosRuleOf(std::string_view name);

/// Reads a text and cuts it into windows to score, with the model's own tokenizer.
/// @throws Error naming the text or the model; UsageError for contradictory rules; Cancelled
EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress = {});

/// A prompt as the model reads it. @throws Error when the model has no tokenizer that can be read
PromptTokens promptTokens(const Model& model, const std::string& text);

/// "sha256:" and 64 lower-case hexadecimal digits, over the number of sequences, and of each its length and its ids,
/// all as int64, little-endian.
/// @param labels of the sequences, for classifiers; empty = nothing is added
std::string dataDigest(const SequenceSet& set, std::span<const int> labels = {});

/// In the same form, over all questions and right answers of a task, and the questions that may serve as examples. Two
/// runs of a task can be compared if they have the same digest.
std::string dataDigest(const Task& task, std::span<const TaskQuestion> examples);

/// In the same form, over a task and its rules (shots, limit, BOS). Equal digests identify the same measurement.
std::string dataDigest(const AskedTask& asked);

} // namespace secateur
