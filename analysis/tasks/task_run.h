#pragma once

#include "analysis/tasks/option_tokens.h"
#include "analysis/tasks/task_prompts.h"
#include "analysis/tasks/task_scores.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// How a task is asked.
struct TaskRules {
    ShotRules shots = {};
    std::size_t limit = 0; ///< questions of a shuffled order that are asked; 0 = all
    std::uint64_t seed = 1234;
    OptionTokenRules tokens = {}; ///< mostInputs 0 = what the model was made for
    std::int64_t batchTokens = 4096;
};

/// What a model wrote behind a prompt.
struct WrittenAnswer {
    std::size_t line = 0;
    std::string text;     ///< without what ended it
    std::string compared; ///< what of it is held against the right answers
    bool isExact = false;
    double f1 = 0; ///< of words, with the right answer that is nearest
};

/// What came of it, with every answer kept.
struct TaskRun {
    TaskKind kind = TaskKind::choice;
    std::vector<AnsweredQuestion> questions; ///< in the order of their file
    TaskScores scores;
    std::string shots;                       ///< shotLabel()
    std::vector<WrittenAnswer> written = {}; ///< of kind generation, instead of questions
};

/// Places of the questions that a limit leaves of so many, ascending.
std::vector<std::size_t> chosenQuestions(std::size_t count, const TaskRules& rules);

/// The options of the questions that a limit leaves, as tokens, their examples in front.
/// @throws Error for tasks without questions, too few examples, continuations that the model cannot see; Cancelled
std::vector<std::vector<OptionTokens>> askedOptions(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                                    std::span<const TaskQuestion> examples, const TaskRules& rules,
                                                    const Progress& progress = {});

/// Asks a model the questions of a task, of kind choice or lastWord. Which ones a limit leaves, and their examples, do
/// not depend on the model and its mask: runs can be paired.
/// @param plan of model.runner() @param examples that stand in front of questions; may be the task's own
/// @throws Error for tasks without questions, encoders, too few examples, continuations that the model cannot see;
/// Cancelled
TaskRun runTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress = {});

/// How far a metric of the second run is from that of the first.
struct MetricDifference {
    std::string id;
    double value = 0;
    double standardError = 0;             ///< of the difference of pairs; NaN for less than two questions
    std::optional<PairedAnswers> answers; ///< of metrics that count right ones
};

/// Of kind generation. @throws Error when there are none
TaskScores writtenScores(std::span<const WrittenAnswer> written);

/// Of every metric of two runs of a task. That of perplexities has the error that the questions' nats give it.
/// @throws Error when the runs are not of the same questions in the same order
std::vector<MetricDifference> taskDifferences(const TaskRun& first, const TaskRun& second);

} // namespace secateur
