#pragma once

#include "analysis/answer_generation.h"
#include "analysis/evaluation.h"
#include "analysis/model.h"
#include "analysis/plan.h"
#include "analysis/progress.h"
#include "analysis/scored_text.h"
#include "analysis/task_work.h"
#include "analysis/tokenizer.h"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// What `evaluate` is told of tasks.
struct TaskOptions {
    std::vector<std::string> paths; ///< none = no tasks are asked
    std::string format;
    std::string labels;
    std::size_t shots = 0;
    std::string shotsFrom;
    bool drawsShots = false;
    std::size_t limit = 0;
    std::uint64_t seed = 1234;
    bool listsAnswers = false;
};

/// --task, --format, --labels, --shots, --shots-from, --draw-shots, --limit, --seed, --answers
void addTaskOptions(CLI::App& verb, TaskOptions& options);

/// A task as every run is asked it.
struct AskedTask {
    std::string path;
    Task task; ///< its name is no other's
    std::vector<TaskQuestion> examples;
    TaskRules rules;
    AnswerJudge judge;                   ///< of kind generation
    std::vector<std::string> classNames; ///< of the model, where it is a classifier
};

/// Reads the task files, which takes no model.
/// @param bos as the command line says it; empty = tokenizer_default
/// @throws UsageError for options that do not go with a task; Error naming file and line
std::vector<AskedTask> readTasks(const TaskOptions& options, std::optional<BosMode> bos, std::int64_t batchTokens,
                                 const Progress& progress);

/// Fills in what the model calls its classes.
void nameClasses(std::vector<AskedTask>& tasks, const Model& model);

/// What asking a task once makes a model run.
TaskWork workOf(const AskedTask& asked, const ModelSpec& spec, const Tokenizer& tokenizer, const Progress& progress);

/// The run of a task under a plan. @throws Error naming file and line
TaskRun askTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const AskedTask& asked,
                const Progress& progress);

TaskEvaluation taskEvaluation(const AskedTask& task, TaskRun run);
/// Adds what a run is compared with.
void compareWith(TaskEvaluation& task, const EvaluatedMask& mask, TaskRun reference);

/// For people: a table of metrics, and one of subjects where there are some.
void printTask(const TaskEvaluation& task, const Evaluation& evaluation);

} // namespace secateur::cli
