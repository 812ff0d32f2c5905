#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/text/sequences.h"
#include "analysis/tasks/task_run.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A text, or a pair, as tokens of `most` at most: the end of a text is cut off, of a pair that of the longer text
/// first, and special tokens stay (as Hugging Face's "longest_first").
Encoding cutEncoding(const LabelledText& text, const Tokenizer& tokenizer, std::size_t most);

/// The class that a text's label names, in upper or lower case, or numbers from 0.
/// @param names of the classes; may be none @throws Error naming the line, for labels that are no class
std::size_t classOf(const LabelledText& text, std::span<const std::string> names, std::size_t classes);

/// The texts of a task that a limit leaves, as tokens; `document` = its place in the task.
std::vector<TokenSequence> labelledSequences(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                             const TaskRules& rules);

/// Has an encoder's classifier label the texts of a task. Scores are log probabilities of the classes; the likeliest
/// one is the answer, whatever an answer is chosen by.
/// @param classNames of the classes in order, for labels that are names, in upper or lower case; labels that are
/// numbers need none
/// @param rules limit, seed, mostInputs and batchTokens; the others do not matter
/// @throws Error for models without a classifier, tasks without texts, labels that are no class (naming the line), and
/// where the model gives no finite number; Cancelled
TaskRun classifyTexts(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                      std::span<const std::string> classNames, const TaskRules& rules, const Progress& progress = {});

} // namespace secateur
