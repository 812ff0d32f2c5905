#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/running/run_speed.h"
#include "analysis/tasks/task_run.h"

#include <cstddef>
#include <cstdint>

namespace secateur {

/// The computation that one evaluation of a task needs.
struct TaskWork {
    std::size_t questions = 0;  ///< chosen questions, texts or prompts
    RunSize size;               ///< shared beginnings count once
    std::int64_t newTokens = 0; ///< TaskKind generation: maximum number of generated tokens
    std::int64_t steps = 0;     ///< generation steps; one step adds a token to each answer of a batch
};

/// @param examples as of runTask()
/// @throws Error as runTask(), classifyTexts() and generateAnswers(); Cancelled
TaskWork taskWork(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                  std::span<const TaskQuestion> examples, const TaskRules& rules, const Progress& progress = {});

/// Expected seconds under a mask, without loading. @param stepSeconds of stepSeconds(); used for newTokens only
double taskSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const TaskWork& work,
                   double stepSeconds = 0);

} // namespace secateur
