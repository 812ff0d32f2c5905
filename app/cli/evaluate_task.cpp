#include "app/cli/evaluate_task.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "backends/text/task_file.h"

#include <fmt/core.h>

namespace secateur::cli {

namespace {

BosRule taskBosRule(std::optional<BosMode> mode) {
    switch (mode.value_or(BosMode::tokenizerDefault)) {
    case BosMode::tokenizerDefault:
    case BosMode::firstOnly:
        return BosRule::tokenizerDefault;
    case BosMode::always:
        return BosRule::always;
    case BosMode::never:
        return BosRule::never;
    default:
        throw UsageError(fmt::format("tasks know no BOS mode {}, but tokenizer_default, always and never", name(*mode)),
                         "--bos");
    }
}

void checkTogether(const TaskOptions& options) {
    const bool several = options.paths.size() > 1;
    if (several && !options.labels.empty())
        throw UsageError("goes with one --task", "--labels");
    if (several && !options.shotsFrom.empty())
        throw UsageError("goes with one --task", "--shots-from");
    if (options.shots == 0 && !options.shotsFrom.empty())
        throw UsageError("says where examples come from; say how many by --shots", "--shots-from");
    if (options.shots == 0 && options.drawsShots)
        throw UsageError("says how examples are chosen; say how many by --shots", "--draw-shots");
    if (!options.format.empty())
        taskFormat(options.format);
}

std::vector<std::string> metricsRow(const std::string& label, const std::vector<TaskMetric>& metrics) {
    std::vector<std::string> row{label};
    for (const TaskMetric& metric : metrics)
        row.push_back(withError(metric.value, metric.standardError));
    return row;
}

std::string rowLabel(const EvaluatedMask& mask) {
    return mask.name.empty() ? "dense" : mask.name;
}

void printMetrics(const TaskEvaluation& task, const Evaluation& evaluation) {
    std::vector<std::vector<std::string>> rows{{""}};
    std::vector<Align> alignment{Align::left};
    for (const TaskMetric& metric : task.run.scores.metrics) {
        rows.front().push_back(metric.id == taskFormat(task.formatId).metric ? metric.id + " *" : metric.id);
        alignment.push_back(Align::point);
    }
    if (task.reference)
        rows.push_back(metricsRow(rowLabel(task.reference->mask), task.reference->run.scores.metrics));
    rows.push_back(metricsRow(rowLabel(evaluation.mask), task.run.scores.metrics));
    if (task.reference) {
        std::vector<TaskMetric> differences;
        std::vector<std::string> changes{"right then wrong, wrong then right"};
        for (const MetricDifference& difference : task.reference->differences) {
            differences.push_back({difference.id, difference.value, difference.standardError});
            const auto& answers = difference.answers;
            changes.push_back(answers ? fmt::format("{}, {}", answers->onlyFirst, answers->onlySecond) : "");
        }
        rows.push_back(metricsRow("difference", differences));
        rows.push_back(std::move(changes));
    }
    fmt::print("{}", table(std::move(rows), alignment));
}

void printSubjects(const TaskEvaluation& task) {
    const TaskScores& scores = task.run.scores;
    if (scores.subjects.empty())
        return;
    std::vector<std::vector<std::string>> rows{{"subject", "questions", "acc"}};
    for (const SubjectScore& subject : scores.subjects)
        rows.push_back({subject.subject, grouped(subject.count),
                        withError(subject.accuracy.value, subject.accuracy.standardError)});
    rows.push_back({"mean of subjects", "", significant(scores.subjectMean)});
    fmt::print("{}", table(std::move(rows), {Align::left, Align::right, Align::point}));
}

} // namespace

void addTaskOptions(CLI::App& verb, TaskOptions& options) {
    CLI::Option* task =
        verb.add_option("--task", options.paths, "Task to ask, one JSON object a line; may be given several times")
            ->option_text("FILE")
            ->allow_extra_args(false);
    verb.add_option("--format", options.format,
                    "Of the tasks, an id of `list tasks`; without it what the fields of the first row speak for")
        ->option_text("ID")
        ->needs(task);
    verb.add_option("--labels", options.labels, "Of a PIQA file without labels, one a line; else FILE-labels.lst")
        ->option_text("FILE")
        ->needs(task);
    verb.add_option("--shots", options.shots, "Solved questions in front of each one")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str()
        ->needs(task);
    verb.add_option("--shots-from", options.shotsFrom,
                    "Task that they are taken from, of the question's subject; without it the asked one itself")
        ->option_text("FILE")
        ->needs(task);
    verb.add_flag("--draw-shots", options.drawsShots, "Draw others for each question instead of taking the first ones")
        ->needs(task);
    verb.add_option("--limit", options.limit, "Ask so many questions, chosen by the seed alone; without it all")
        ->check(CLI::Range(1, 1 << 30))
        ->needs(task);
    verb.add_option("--seed", options.seed, "Of what a limit leaves, and of drawn examples")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 62))
        ->capture_default_str()
        ->needs(task);
    verb.add_flag("--answers", options.listsAnswers, "With --json, list every answer and the scores behind it")
        ->needs(task);
}

std::vector<AskedTask> readTasks(const TaskOptions& options, std::optional<BosMode> bos, std::int64_t batchTokens,
                                 const Progress& progress) {
    std::vector<AskedTask> tasks;
    if (options.paths.empty())
        return tasks;
    checkTogether(options);
    for (const std::string& path : options.paths) {
        TaskRequest request = options;
        request.path = path;
        request.bos = taskBosRule(bos);
        request.batchTokens = batchTokens;
        tasks.push_back(readAskedTask(request, progress));
    }
    try {
        makeNamesDiffer(tasks);
    } catch (const UsageError& error) {
        throw UsageError(error.message(), "--task", error.hint());
    }
    return tasks;
}

void printTask(const TaskEvaluation& task, const Evaluation& evaluation) {
    const std::size_t count = task.run.scores.count;
    const std::string of = count < task.questions ? fmt::format(" of {}", grouped(task.questions)) : "";
    const std::string examples = task.run.shots.empty() ? "" : ", examples: " + task.run.shots;
    fmt::print("{} ({}): {}{} questions{}, {}; * is what papers report\n", task.name, task.formatId, grouped(count), of,
               examples, evaluation.dtype);
    printMetrics(task, evaluation);
    printSubjects(task);
}

} // namespace secateur::cli
