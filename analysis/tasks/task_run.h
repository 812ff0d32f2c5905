#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/running/run_speed.h"
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

/// The score by which an answer is chosen among the options: the log probability, or the log probability divided by the
/// length of the choice.
enum class AnswerBy {
    total,      ///< "acc"
    codePoints, ///< "acc_norm"
    bytes,      ///< "acc_bytes"
};
std::string_view name(AnswerBy by);

/// A model's answer to one question.
struct AnsweredQuestion {
    std::size_t line = 0;
    std::string subject;
    std::size_t gold = 0;
    std::vector<OptionScore> scores; ///< one for each option
    std::size_t byTotal = 0;         ///< the option that each score chooses; of equal scores the first
    std::size_t byCodePoints = 0;
    std::size_t byBytes = 0;

    std::size_t answer(AnswerBy by) const;
};

/// Whether the chosen option is the right one. lastWord: whether each token of the expected word is the likeliest one,
/// for any `by`.
bool isRight(TaskKind kind, AnswerBy by, const AnsweredQuestion& question);

AnsweredQuestion answered(const TaskQuestion& question, const std::vector<OptionScore>& scores);

/// A mean over questions with its standard error. It uses the sample standard deviation (ddof = 1), and is NaN for
/// fewer than two questions.
struct TaskMetric {
    /// choice: "acc", "acc_norm", "acc_bytes"; lastWord: "acc", "perplexity"; classification: "acc"; generation:
    /// "exact_match", "f1".
    std::string id;
    double value = 0;
    double standardError = 0;
};

/// A metric that is a mean. @param values one value for each question
TaskMetric meanMetric(std::string_view id, std::span<const double> values);

struct SubjectScore {
    std::string subject;
    std::size_t count = 0;
    TaskMetric accuracy;
};

/// The scores of a task.
struct TaskScores {
    std::size_t count = 0;
    std::vector<TaskMetric> metrics;
    std::vector<SubjectScore> subjects; ///< sorted by name; empty if the format has no subjects
    double subjectMean = 0;             ///< mean of the accuracies of the subjects; NaN without subjects

    /// The metric with this id. @throws UsageError that lists the known metrics
    const TaskMetric& metric(std::string_view id) const;
};

/// Scores of a task of any kind except generation. @throws Error if there are no questions
TaskScores taskScores(TaskKind kind, std::span<const AnsweredQuestion> questions);

/// The comparison of two runs question by question, as the counts of McNemar's table.
struct PairedAnswers {
    std::size_t bothRight = 0;
    std::size_t onlyFirst = 0;
    std::size_t onlySecond = 0;
    std::size_t bothWrong = 0;
    double difference = 0;    ///< accuracy of the second run minus that of the first
    double standardError = 0; ///< standard error of the difference; NaN for fewer than two questions
};

/// @param first, second for each question, whether the run answered it correctly
PairedAnswers pairedAnswers(const std::vector<bool>& first, const std::vector<bool>& second);
/// @throws Error if the two runs do not have the same questions in the same order
PairedAnswers pairedAnswers(TaskKind kind, AnswerBy by, std::span<const AnsweredQuestion> first,
                            std::span<const AnsweredQuestion> second);

/// The rules of a task's evaluation.
struct TaskRules {
    ShotRules shots = {};
    std::size_t limit = 0; ///< maximum number of questions, which are drawn by `seed`; 0 = all
    std::uint64_t seed = 1234;
    OptionTokenRules tokens = {}; ///< here a mostInputs of 0 means the model's context
    std::int64_t batchTokens = 4096;
};

/// Whether two sets of rules give the same questions and prompts. The size of batches is ignored.
bool isSameChoice(const TaskRules& a, const TaskRules& b);

/// A generated answer to a prompt.
struct WrittenAnswer {
    std::size_t line = 0;
    std::string text;     ///< the generated text before the stop text
    std::string compared; ///< the part that is compared with the reference answers
    bool isExact = false;
    double f1 = 0; ///< word F1 with the reference answer for which it is highest
};

/// The result of a task, including every answer.
struct TaskRun {
    TaskKind kind = TaskKind::choice;
    std::vector<AnsweredQuestion> questions; ///< in the order of the file
    TaskScores scores;
    std::string shots;                       ///< shotLabel()
    std::vector<WrittenAnswer> written = {}; ///< for TaskKind generation, instead of `questions`
};

/// Ascending indices of those of `count` questions that rules.limit selects.
std::vector<std::size_t> chosenQuestions(std::size_t count, const TaskRules& rules);

/// The options of the chosen questions as tokens, with examples in front.
/// @throws Error for tasks without questions, too few examples, and continuations longer than the model's context;
/// Cancelled
std::vector<std::vector<OptionTokens>> askedOptions(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                                    std::span<const TaskQuestion> examples, const TaskRules& rules,
                                                    const Progress& progress = {});

/// Evaluates a task of kind choice or lastWord. The chosen questions and their examples depend on neither model nor
/// mask, so that runs can be compared question by question.
/// @param plan of model.runner() @param examples questions to choose examples from; may be the task's own
/// @throws Error for tasks without questions, encoders, too few examples, and continuations longer than the model's
/// context; Cancelled
TaskRun runTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress = {});

/// Difference of a metric between two runs, second minus first.
struct MetricDifference {
    std::string id;
    double value = 0;
    double standardError = 0;             ///< of paired differences; NaN for fewer than two questions
    std::optional<PairedAnswers> answers; ///< for metrics that count right answers
};

/// Scores of a task of TaskKind generation. @throws Error if there are no answers
TaskScores writtenScores(std::span<const WrittenAnswer> written);

/// Differences of all metrics between two runs of a task, second minus first. The standard error of a difference of
/// perplexities is propagated from the paired log probabilities.
/// @throws Error if the runs are not of the same questions in the same order
std::vector<MetricDifference> taskDifferences(const TaskRun& first, const TaskRun& second);

/// The amount of computation for one evaluation of a task.
struct TaskWork {
    std::size_t questions = 0;  ///< number of chosen questions, texts or prompts
    RunSize size;               ///< tokens to run; beginnings that options share count once
    std::int64_t newTokens = 0; ///< TaskKind generation: maximum number of generated tokens
    std::int64_t steps = 0;     ///< number of generation steps; a step adds a token to each answer of a batch
};

/// @param examples as of runTask()
/// @throws Error as runTask(), classifyTexts() and generateAnswers(); Cancelled
TaskWork taskWork(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                  std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress = {});

/// Expected seconds under a mask, without the time to load weights.
/// @param stepSeconds result of the function stepSeconds(); used only if the task generates tokens
double taskSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const TaskWork& work,
                   double stepSeconds = 0);

} // namespace secateur
