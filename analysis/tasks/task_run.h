#pragma once

#include "analysis/tasks/option_scores.h"
#include "analysis/tasks/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What an answer is chosen by: the log probability of an option, or that over the length of its choice.
enum class AnswerBy {
    total,      ///< "acc"
    codePoints, ///< "acc_norm"
    bytes,      ///< "acc_bytes"
};
std::string_view name(AnswerBy by);

/// How one question went.
struct AnsweredQuestion {
    std::size_t line = 0;
    std::string subject;
    std::size_t gold = 0;
    std::vector<OptionScore> scores; ///< one for each option
    std::size_t byTotal = 0;         ///< options chosen; of equals the first one
    std::size_t byCodePoints = 0;
    std::size_t byBytes = 0;

    std::size_t answer(AnswerBy by) const;
};

/// lastWord: whether the expected word is the greedy one, whatever an answer is chosen by.
bool isRight(TaskKind kind, AnswerBy by, const AnsweredQuestion& question);

AnsweredQuestion answered(const TaskQuestion& question, const std::vector<OptionScore>& scores);

/// A mean over questions and its standard error (sample deviation, ddof 1); the error of less than two is NaN.
struct TaskMetric {
    /// "acc", "acc_norm", "acc_bytes"; lastWord: "acc", "perplexity"; classification: "acc"; generation: "exact_match",
    /// "f1"
    std::string id;
    double value = 0;
    double standardError = 0;
};

/// Of one value for each question.
TaskMetric meanMetric(std::string_view id, std::span<const double> values);

struct SubjectScore {
    std::string subject;
    std::size_t count = 0;
    TaskMetric accuracy;
};

/// What a task gives as a whole.
struct TaskScores {
    std::size_t count = 0;
    std::vector<TaskMetric> metrics;
    std::vector<SubjectScore> subjects; ///< by name; empty where the format knows none
    double subjectMean = 0;             ///< of the accuracies of subjects, each counted once; NaN without subjects

    /// @throws UsageError naming the known ones
    const TaskMetric& metric(std::string_view id) const;
};

/// Of every kind but generation. @throws Error when there are no questions
TaskScores taskScores(TaskKind kind, std::span<const AnsweredQuestion> questions);

/// Two runs over the same questions, compared question by question (McNemar's table).
struct PairedAnswers {
    std::size_t bothRight = 0;
    std::size_t onlyFirst = 0;
    std::size_t onlySecond = 0;
    std::size_t bothWrong = 0;
    double difference = 0;    ///< accuracy of the second run less that of the first
    double standardError = 0; ///< of the difference; NaN for less than two questions
};

/// @param first whether each question is right @param second as many
PairedAnswers pairedAnswers(const std::vector<bool>& first, const std::vector<bool>& second);
/// @throws Error when the runs are not of the same questions in the same order
PairedAnswers pairedAnswers(TaskKind kind, AnswerBy by, std::span<const AnsweredQuestion> first,
                            std::span<const AnsweredQuestion> second);

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

/// Asks a model the questions of a task, of kind choice or lastWord. Which ones a limit leaves, and their
/// examples, do not depend on the model and its mask: runs can be paired.
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
