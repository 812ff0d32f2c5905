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

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The user's choice of a text to measure a model on, and the rules that divide it into sequences.
struct SequenceRequest {
    std::string path;                                        ///< file or folder; empty = `task`, or the built-in text
    std::string task;                                        ///< file of a task, whose prompts are the documents
    std::string field;                                       ///< field of a .jsonl file's rows; empty = automatic
    TaskFileOptions taskOptions = {};                        ///< options for reading `task`
    SequenceRules rules = {.length = 0, .mostTokens = 8192}; ///< length 0 = 512 (encoders: 128), at most the context
};

/// Reads a text and divides it into sequences with the model's own tokenizer (resources/manual/metrics.md, Calibration
/// text). In a classification task, each text or pair of texts becomes one sequence with its label.
/// @throws Error naming the text or the model; UsageError for contradictory options; Cancelled
SequenceText readSequenceText(const Model& model, const SequenceRequest& request, const Progress& progress = {});

/// readSequenceText() of documents that are known. @param documents empty = they are read
SequenceText sequenceText(const Model& model, const SequenceRequest& request,
                          const std::optional<std::vector<std::string>>& documents, const Progress& progress = {});

/// The name of a rule: "document", "line", "stream", "windows"; "tokenizer_default", "always", "never", "first_only".
std::string_view name(TextSplit split);
std::string_view name(BosRule rule);
/// @throws UsageError listing the known names
TextSplit textSplitOf(std::string_view name);
BosRule bosRuleOf(std::string_view name);

/// Reads a text and divides it into windows to score, with the model's own tokenizer.
/// @throws Error naming the text or the model; UsageError for contradictory rules; Cancelled
EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress = {});

/// readEvaluationText() of documents that are known.
EvaluationText evaluationText(const Model& model, const TextRequest& request, const std::vector<std::string>& documents,
                              const Progress& progress = {});

/// The tokens of a prompt. @throws Error if the model has no tokenizer, or it cannot be read
PromptTokens promptTokens(const Model& model, const std::string& text);

/// A digest of sequences: "sha256:" and 64 lower-case hexadecimal digits. The hash covers the number of sequences, then
/// the length and the token ids of each sequence, all as int64, little-endian.
/// @param labels labels of the sequences for classifiers, which are hashed too; empty = none
std::string dataDigest(const SequenceSet& set, std::span<const int> labels = {});

/// A digest of a task: its questions, their right answers, and the questions that may serve as examples. Two runs of a
/// task can be compared if their digests are equal.
std::string dataDigest(const Task& task, std::span<const TaskQuestion> examples);

/// A digest of a task and its rules (shots, limit, seeds, BOS, maximum tokens). Measurements with equal digests used
/// the same data.
std::string dataDigest(const AskedTask& asked);

} // namespace secateur
