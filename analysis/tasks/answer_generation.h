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

/// What becomes of a written answer when it is held against the right ones.
struct AnswerVerdict {
    std::string compared;
    bool isExact = false;
    double f1 = 0;
};

using AnswerJudge = std::function<AnswerVerdict(const AnswerPrompt& prompt, std::string_view written)>;

/// Where the first of some texts begins in another; npos where none does.
/// @param from bytes of the text that need not be looked at
std::size_t firstStop(std::string_view text, std::span<const std::string> stops, std::size_t from = 0);

/// How many answers are written side by side, of so many, where the longest prompt and its answer have `tokens`.
std::int64_t answersAtOnce(std::int64_t prompts, std::int64_t tokens, std::int64_t batchTokens);

/// Has a model write the answers to the prompts of a task, the likeliest token each time, until a stop text, the
/// tokenizer's EOS or as many tokens as the prompt allows. Of a prompt that leaves the model no room for them the
/// beginning goes.
/// @param plan of model.runner()
/// @param rules limit, seed, tokens and batchTokens (of prompts and answers, times four: what is kept of a token is
/// little); the others do not matter
/// @throws Error for tasks without prompts, encoders, and prompts that cannot be continued, naming the line; Cancelled
TaskRun generateAnswers(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                        const AnswerJudge& judge, const TaskRules& rules, const Progress& progress = {});

} // namespace secateur
