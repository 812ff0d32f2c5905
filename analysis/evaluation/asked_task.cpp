#include "analysis/evaluation/asked_task.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/far_plan.h"
#include "analysis/tasks/answer_generation.h"
#include "analysis/tasks/task_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace secateur {

namespace {

/// Runs a function, and adds the name of the file to errors that name a line.
template <typename Work>
auto inFile(const AskedTask& asked, const Work& work) {
    try {
        return work();
    } catch (const Error& error) {
        if (!error.subject().starts_with("line "))
            throw;
        throw error.within(asked.path);
    }
}

TaskRun ask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const AskedTask& asked,
            const Progress& progress) {
    switch (taskFormat(asked.task.formatId).kind) {
    case TaskKind::classification:
        return classifyTexts(model, plan, tokenizer, asked.task, asked.classNames, asked.rules, progress);
    case TaskKind::generation:
        return generateAnswers(model, plan, tokenizer, asked.task, asked.judge, asked.rules, progress);
    default:
        return runTask(model, plan, tokenizer, asked.task, asked.examples, asked.rules, progress);
    }
}

} // namespace

void makeNamesDiffer(std::span<AskedTask> tasks) {
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    for (const AskedTask& own : tasks) {
        const auto isSame = [&](const AskedTask& other) { return other.task.name == own.task.name; };
        const fs::path path = fs::absolute(own.path).lexically_normal();
        names.push_back(std::ranges::count_if(tasks, isSame) > 1 ? path.parent_path().filename() / own.task.name
                                                                 : fs::path(own.task.name));
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (std::ranges::count(names, names[i]) > 1)
            throw UsageError(fmt::format("two tasks are named {}; results need different names", names[i]), {},
                             "Evaluate them separately");
        tasks[i].task.name = names[i];
    }
}

TaskWork workOf(const AskedTask& asked, const ModelSpec& spec, const Tokenizer& tokenizer, const Progress& progress) {
    return inFile(asked, [&] { return taskWork(spec, tokenizer, asked.task, asked.examples, asked.rules, progress); });
}

TaskRun askTask(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const AskedTask& asked,
                const Progress& progress) {
    if (const FarModel* far = farModel(model))
        return far->result<TaskRun>("ask_task", progress, farPlan(plan), asked);
    return inFile(asked, [&] { return ask(model, plan, tokenizer, asked, progress); });
}

TaskEvaluation taskEvaluation(const AskedTask& asked, TaskRun run) {
    TaskEvaluation task;
    task.name = asked.task.name;
    task.source = asked.path;
    task.digest = asked.digest;
    task.formatId = asked.task.formatId;
    task.questions = asked.task.questions.size() + asked.task.texts.size() + asked.task.prompts.size();
    task.rules = asked.rules;
    task.classNames = asked.classNames;
    task.run = std::move(run);
    return task;
}

void compareWith(TaskEvaluation& task, const EvaluatedMask& mask, TaskRun reference) {
    std::vector<MetricDifference> differences = taskDifferences(reference, task.run);
    task.reference = ReferenceTask{mask, std::move(reference), std::move(differences)};
}

} // namespace secateur
