#include "app/cli/evaluate_task.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_text.h"
#include "backends/text/task_file.h"

#include <fmt/core.h>

namespace secateur::cli {

namespace {

/// The BOS rule of tasks. For tasks, first_only is the same as tokenizer_default.
BosRule taskBosRule(std::optional<BosMode> mode) {
    const BosRule rule = bosRuleFor(mode, "tasks");
    return rule == BosRule::firstOnly ? BosRule::tokenizerDefault : rule;
}

void checkOptions(const TaskOptions& options) {
    const bool several = options.paths.size() > 1;
    if (several && !options.labels.empty())
        throw UsageError("requires a single --task", "--labels");
    if (several && !options.shotsFrom.empty())
        throw UsageError("requires a single --task", "--shots-from");
    if (options.shots == 0 && !options.shotsFrom.empty())
        throw UsageError("requires --shots, the number of examples", "--shots-from");
    if (options.shots == 0 && options.drawsShots)
        throw UsageError("requires --shots, the number of examples", "--draw-shots");
    if (!options.format.empty())
        taskFormat(options.format);
}

std::vector<std::string> metricsRow(const std::string& label, const std::vector<TaskMetric>& metrics) {
    std::vector<std::string> row{label};
    for (const TaskMetric& metric : metrics)
        row.push_back(withError(metric.value, metric.standardError));
    return row;
}

void printMetrics(const TaskEvaluation& task, const Evaluation& evaluation) {
    std::vector<std::vector<std::string>> rows{{""}};
    std::vector<Align> alignment{Align::left};
    for (const TaskMetric& metric : task.run.scores.metrics) {
        rows.front().push_back(metric.id == taskFormat(task.formatId).metric ? metric.id + " *" : metric.id);
        alignment.push_back(Align::point);
    }
    if (task.reference)
        rows.push_back(metricsRow(shownMask(task.reference->mask), task.reference->run.scores.metrics));
    rows.push_back(metricsRow(shownMask(evaluation.mask), task.run.scores.metrics));
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
    CLI::Option* task = verb.add_option("--task", options.paths, "Task file, one JSON object per line; may be repeated")
                            ->option_text("FILE")
                            ->allow_extra_args(false);
    verb.add_option("--format", options.format,
                    "Format of the task files, an id of `list tasks` [found by the fields of the first row]")
        ->option_text("ID")
        ->needs(task);
    verb.add_option("--labels", options.labels, "Label file of a PIQA task, one label per line [FILE-labels.lst]")
        ->option_text("FILE")
        ->needs(task);
    verb.add_option("--shots", options.shots, "Number of solved questions in front of each question")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str()
        ->needs(task);
    verb.add_option("--shots-from", options.shotsFrom,
                    "Task file of the solved questions, which are of the same subject [the task itself]")
        ->option_text("FILE")
        ->needs(task);
    verb.add_flag("--draw-shots", options.drawsShots,
                  "Draw the solved questions anew for each question instead of taking the first ones")
        ->needs(task);
    verb.add_option("--limit", options.limit, "Maximum number of questions, drawn by --seed [all]")
        ->check(CLI::Range(1, 1 << 30))
        ->needs(task);
    verb.add_option("--seed", options.seed, "Seed of --limit and --draw-shots")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 62))
        ->capture_default_str()
        ->needs(task);
    verb.add_flag("--answers", options.listsAnswers, "With --json, list each answer with its scores")->needs(task);
}

std::vector<AskedTask> readTasks(const TaskOptions& options, std::optional<BosMode> bos, std::int64_t batchTokens,
                                 const Progress& progress) {
    std::vector<AskedTask> tasks;
    if (options.paths.empty())
        return tasks;
    checkOptions(options);
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
    fmt::print("{} ({}): {}{} questions{}, {}; * = the metric that papers report\n", task.name, task.formatId,
               grouped(count), of, examples, evaluation.dtype);
    printMetrics(task, evaluation);
    printSubjects(task);
}

} // namespace secateur::cli
