#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task_work.h"
#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A task file, and how it is to be asked, as a person names it.
struct TaskRequest {
    std::string path;
    std::string format = {};    ///< of taskFormats(); empty = what the fields of the first row speak for
    std::string labels = {};    ///< of a PIQA file without labels; empty = the file beside it
    std::size_t shots = 0;      ///< solved questions in front of each one
    std::string shotsFrom = {}; ///< task that they are taken from; empty = the asked one itself
    bool drawsShots = false;
    std::size_t limit = 0; ///< questions; 0 = all
    std::uint64_t seed = 1234;
    BosRule bos = BosRule::tokenizerDefault;
    std::int64_t batchTokens = 4096;

    bool operator==(const TaskRequest&) const = default;
};

/// The same, read: every run is asked it in the same way.
struct AskedTask {
    std::string path;
    Task task;
    std::vector<TaskQuestion> examples;
    TaskRules rules;
    AnswerJudge judge;                   ///< of kind generation
    std::vector<std::string> classNames; ///< of the model, where it is a classifier
    std::string digest;                  ///< of what is asked, examples included
};

/// Files of two tasks are often called the same, after the split: then their folders tell them apart.
/// @throws UsageError for tasks that are called the same even so
void makeNamesDiffer(std::span<AskedTask> tasks);

/// What asking a task once makes a model run. @throws as taskWork(), naming file and line
TaskWork workOf(const AskedTask& asked, const ModelSpec& spec, const Tokenizer& tokenizer,
                const Progress& progress = {});

/// The run of a task under a plan. @throws as runTask(), classifyTexts() and generateAnswers(), naming file and line
TaskRun askTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const AskedTask& asked,
                const Progress& progress = {});

TaskEvaluation taskEvaluation(const AskedTask& asked, TaskRun run);

/// Adds what a run is compared with. @throws Error when that is not of the same questions
void compareWith(TaskEvaluation& task, const EvaluatedMask& mask, TaskRun reference);

} // namespace secateur
