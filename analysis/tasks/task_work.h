#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/running/run_speed.h"
#include "analysis/tasks/task_run.h"

#include <cstddef>
#include <cstdint>

namespace secateur {

/// What asking a task once makes a model run.
struct TaskWork {
    std::size_t questions = 0;  ///< or texts, or prompts, that a limit leaves
    RunSize size;               ///< what is shared is counted once
    std::int64_t newTokens = 0; ///< of kind generation: at most, for most answers end sooner
    std::int64_t steps = 0;     ///< that they take: answers are written side by side
};

/// @param examples as runTask() takes them
/// @throws Error as what asks the task: runTask(), classifyTexts(), generateAnswers(); Cancelled
TaskWork taskWork(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                  std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress = {});

/// What it takes under a plan, loading left out. @param stepSeconds as stepSeconds(); matters for newTokens alone
double taskSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const TaskWork& work,
                   double stepSeconds = 0);

} // namespace secateur
