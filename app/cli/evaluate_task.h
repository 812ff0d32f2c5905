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

/// What `evaluate` is told of tasks: how all of them are asked.
struct TaskOptions : TaskRequest {
    std::vector<std::string> paths; ///< none = no tasks are asked
    bool listsAnswers = false;
};

/// --task, --format, --labels, --shots, --shots-from, --draw-shots, --limit, --seed, --answers
void addTaskOptions(CLI::App& verb, TaskOptions& options);

/// Reads the task files, which takes no model.
/// @param bos as the command line says it; empty = tokenizer_default
/// @throws UsageError for options that do not go with a task; Error naming file and line
std::vector<AskedTask> readTasks(const TaskOptions& options, std::optional<BosMode> bos, std::int64_t batchTokens,
                                 const Progress& progress);

/// For people: a table of metrics, and one of subjects where there are some.
void printTask(const TaskEvaluation& task, const Evaluation& evaluation);

} // namespace secateur::cli
