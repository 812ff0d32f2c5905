#pragma once

#include "analysis/tasks/task_run.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace secateur {

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
