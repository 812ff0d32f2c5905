#pragma once

#include "analysis/tasks/option_scores.h"
#include "analysis/tasks/task.h"

#include <cstddef>
#include <cstdint>
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

} // namespace secateur
