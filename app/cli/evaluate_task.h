#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/text/scored_text.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// Options of `evaluate` about tasks.
struct TaskOptions : TaskRequest {
    std::vector<std::string> paths; ///< empty = no tasks
    bool listsAnswers = false;
};

/// Adds --task, --format, --labels, --shots, --shots-from, --draw-shots, --limit, --seed and --answers.
void addTaskOptions(CLI::App& verb, TaskOptions& options);

/// Reads the task files.
/// @param bos value of --bos; empty = tokenizer_default
/// @throws UsageError for options that tasks do not have; Error with file and line
std::vector<AskedTask> readTasks(const TaskOptions& options, std::optional<BosMode> bos, std::int64_t batchTokens,
                                 const Progress& progress);

/// Prints a table of a task's metrics and, if there are subjects, a table of subjects.
void printTask(const TaskEvaluation& task, const Evaluation& evaluation);

} // namespace secateur::cli
