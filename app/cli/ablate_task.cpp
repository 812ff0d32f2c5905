#include "app/cli/ablate_task.h"

#include "analysis/running/runner.h"
#include "backends/text/asked_task_file.h"
#include "backends/text/data_digest.h"
#include "backends/text/measure_on_text.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace secateur::cli {

namespace {

AblationEffect fallOf(const AskedTask& asked, const TaskRun& dense, const TaskRun& run) {
    const std::vector<MetricDifference> differences = taskDifferences(dense, run);
    const auto found = std::ranges::find(differences, taskFormat(asked.task.formatId).metric, &MetricDifference::id);
    return {-found->value, found->standardError};
}

/// With all that a measurement says of itself.
void describe(std::vector<MetricResult>& results, const ReadyModel& ready, const AblatedTask& task) {
    for (MetricResult& result : results) {
        result.data = task.data;
        result.measurement = measurementOf(*ready.model, *ready.plan, dataDigest(task.asked));
    }
}

} // namespace

AblatedTask ablatedTask(const ReadyModel& ready, AskedTask asked, const Progress& progress) {
    nameClasses(asked, ready.model->card());
    AblatedTask task{std::move(asked), openTokenizer(ready.model->card()), {}};
    const TaskWork work = workOf(task.asked, ready.model->spec(), *task.tokenizer, progress);
    task.data = {task.asked.path,
                 static_cast<std::int64_t>(work.questions),
                 work.size.tokens,
                 work.size.tokens,
                 work.size.positions,
                 "question",
                 std::string(name(task.asked.rules.tokens.bos))};
    return task;
}

std::vector<MetricResult> ablateTask(const ReadyModel& ready, const AblatedTask& task,
                                     const std::vector<MetricRequest>& requests, const AblationMemory& memory,
                                     const Progress& progress) {
    const Model& model = *ready.model;
    const auto ask = [&](const Plan& plan, const Progress& part) {
        return askTask(model, plan, *task.tokenizer, task.asked, part);
    };
    std::optional<TaskRun> whole; // asked where anything is missing
    const AblationTrial trial = [&](const PruningMask& mask, const Progress& part) {
        if (!whole)
            whole = ask(*ready.plan, part.part(0, 0));
        return fallOf(task.asked, *whole, ask(*model.runner().plan(mask, ready.plan->type()), part));
    };
    AblationMemory own{memory.known, {}};
    if (memory.more)
        own.more = [&](std::vector<MetricResult> results) {
            describe(results, ready, task);
            memory.more(results);
        };
    auto results = ablateEach(model.spec(), ready.plan->mask(), requests, trial, own, progress);
    describe(results, ready, task);
    return results;
}

} // namespace secateur::cli
