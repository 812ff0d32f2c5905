#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/tasks/task_run.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Encodes a text or a pair as at most `most` tokens. Truncates like "longest_first" of Hugging Face: a single text at
/// its end; a pair at the end of the longer text until both are equally long. Special tokens are kept.
Encoding cutEncoding(const LabelledText& text, const Tokenizer& tokenizer, std::size_t most);

/// The index of the class that a text's label names. The label is the name of the class, in upper or lower case, or its
/// index.
/// @param names names of the classes; may be empty @throws Error with the text's line for unknown labels
std::size_t classOf(const LabelledText& text, std::span<const std::string> names, std::size_t classes);

/// The texts of a task that the rules select, as tokens. TokenSequence::document is the index of the text in the task.
std::vector<TokenSequence> labelledSequences(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                             const TaskRules& rules);

/// Labels the texts of a task with an encoder's classifier. Scores are log probabilities of the classes; the likeliest
/// class is the answer for every criterion.
/// @param classNames names of the classes in order; may be empty if labels are numbers
/// @param rules only limit, seed, mostInputs and batchTokens are used
/// @throws Error for models without a classifier, tasks without texts, unknown labels (with the line) and non-finite
/// results; Cancelled
TaskRun classifyTexts(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                      std::span<const std::string> classNames, const TaskRules& rules, const Progress& progress = {});

/// The comparison of a generated answer with the reference answers.
struct AnswerVerdict {
    std::string compared; ///< the part of the generated text that was compared
    bool isExact = false;
    double f1 = 0;
};

using AnswerJudge = std::function<AnswerVerdict(const AnswerPrompt& prompt, std::string_view written)>;

/// Position of the first stop text; npos if there is none.
/// @param from offset in bytes at which the search begins
std::size_t firstStop(std::string_view text, std::span<const std::string> stops, std::size_t from = 0);

/// Number of answers that are generated in one batch.
/// @param prompts number of prompts in the task @param tokens length of the longest prompt with its answer
std::int64_t answersAtOnce(std::int64_t prompts, std::int64_t tokens, std::int64_t batchTokens);

/// Generates answers to the prompts of a task greedily. An answer ends at a stop text, at EOS, or at the prompt's
/// maximum number of tokens. A prompt that leaves no room for the answer loses its first tokens.
/// @param plan plan of model.runner()
/// @param rules only limit, seed, tokens and batchTokens are used; a batch may have four times batchTokens, because a
/// token in the KV cache needs little memory
/// @throws Error for tasks without prompts, encoders, and prompts that cannot be continued (with the line); Cancelled
TaskRun generateAnswers(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                        const AnswerJudge& judge, const TaskRules& rules, const Progress& progress = {});

} // namespace secateur
