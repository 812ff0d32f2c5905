#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task_run.h"
#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The user's choice of a task file and of the rules of its evaluation.
struct TaskRequest {
    std::string path;
    std::string format = {};    ///< id in taskFormats(); empty = recognised by the fields of the first row
    std::string labels = {};    ///< label file of PIQA; empty = the one next to the task file
    std::size_t shots = 0;      ///< number of solved questions in front of each question
    std::string shotsFrom = {}; ///< task file of the solved questions; empty = the task itself
    bool drawsShots = false;    ///< whether to use ShotChoice::drawn instead of ShotChoice::first
    std::size_t limit = 0;      ///< maximum number of questions; 0 = all
    std::uint64_t seed = 1234;
    BosRule bos = BosRule::tokenizerDefault;
    std::int64_t batchTokens = 4096;

    bool operator==(const TaskRequest&) const = default;
};

/// The task of a TaskRequest after it was read from its file. All runs use it unchanged.
struct AskedTask {
    std::string path;
    Task task;
    std::vector<TaskQuestion> examples;
    TaskRules rules;
    AnswerJudge judge;                   ///< compares answers; for TaskKind::generation
    std::vector<std::string> classNames; ///< class names of the model, if it is a classifier
    std::string digest;                  ///< digest of the questions, including examples
};

/// If several tasks have the same name, puts the name of their folder in front. Files are often named after the split
/// ("test"). @throws UsageError if names are still equal
void makeNamesDiffer(std::span<AskedTask> tasks);

/// taskWork() of the task. @throws as taskWork(); errors name file and line
TaskWork workOf(const AskedTask& asked, const ModelSpec& spec, const Tokenizer& tokenizer,
                const Progress& progress = {});

/// Evaluates a task of any kind under a plan. @throws as runTask(), classifyTexts() and generateAnswers(); errors name
/// file and line
TaskRun askTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const AskedTask& asked,
                const Progress& progress = {});

TaskEvaluation taskEvaluation(const AskedTask& asked, TaskRun run);

/// Adds a reference run, and the differences of the task's run from it. @throws Error if the reference answered other
/// questions
void compareWith(TaskEvaluation& task, const EvaluatedMask& mask, TaskRun reference);

} // namespace secateur
