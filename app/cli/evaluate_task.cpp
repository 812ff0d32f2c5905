#include "app/cli/evaluate_task.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_text.h"
#include "app/reference/offered_values.h"
#include "backends/text/task_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

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

/// Reads FILE[:format=ID][:shots=N]. A file with such a name is taken as it is. @throws UsageError
void readPath(TaskRequest& request, const std::string& text) {
    request.path = text;
    while (!std::filesystem::exists(request.path)) {
        const std::size_t colon = request.path.rfind(':');
        const std::string key = colon == std::string::npos ? "" : request.path.substr(colon + 1);
        if (key.starts_with("format=")) {
            request.format = key.substr(7);
            taskFormat(request.format);
        } else if (key.starts_with("shots=")) {
            const char* const end = key.data() + key.size();
            const auto [last, failure] = std::from_chars(key.data() + 6, end, request.shots);
            if (failure != std::errc() || last != end || request.shots > 1000)
                throw UsageError(fmt::format("{} is no number from 0 to 1000", key), "--task");
        } else {
            return; // reading it says what is wrong
        }
        request.path.resize(colon);
    }
}

/// The cells of a metric's column: the run alone, or reference, run, their difference and the changed answers.
std::vector<std::string> cellsOf(const TaskEvaluation& task, const TaskMetric& metric) {
    const std::string run = withError(metric.value, metric.standardError);
    if (!task.reference)
        return {run};
    const TaskMetric& reference = task.reference->run.scores.metric(metric.id);
    const std::vector<MetricDifference>& differences = task.reference->differences;
    const auto found = std::ranges::find(differences, metric.id, &MetricDifference::id);
    if (found == differences.end())
        return {withError(reference.value, reference.standardError), run, "", ""};
    const auto& answers = found->answers;
    return {withError(reference.value, reference.standardError), run, withError(found->value, found->standardError),
            answers ? fmt::format("{}, {}", answers->onlyFirst, answers->onlySecond) : ""};
}

void printMetrics(const TaskEvaluation& task, const Evaluation& evaluation) {
    std::vector<std::string> labels{shownName(evaluation.mask, evaluation.adapter)};
    if (task.reference)
        labels = {shownMask(task.reference->mask), labels.front(), "difference", "right then wrong, wrong then right"};
    Table table(labels.size());
    table.add({}, [&](std::size_t row) { return labels[row]; });
    for (const TaskMetric& metric : task.run.scores.metrics) {
        const std::string title = metric.id == taskFormat(task.formatId).metric ? metric.id + " *" : metric.id;
        table.add({title, Align::point}, [cells = cellsOf(task, metric)](std::size_t row) { return cells.at(row); });
    }
    print(table);
}

void printSubjects(const TaskEvaluation& task) {
    const TaskScores& scores = task.run.scores;
    if (scores.subjects.empty())
        return;
    Rows<3> rows;
    for (const SubjectScore& subject : scores.subjects)
        rows.push_back({subject.subject, grouped(subject.count),
                        withError(subject.accuracy.value, subject.accuracy.standardError)});
    rows.push_back({"mean of subjects", "", significant(scores.subjectMean)});
    print(Table({{"subject"}, {"questions", Align::right}, {"acc", Align::point}}, rows));
}

} // namespace

void addTaskOptions(CLI::App& verb, TaskOptions& options) {
    CLI::Option* task =
        verb.add_option("--task", options.paths,
                        "Task file, one JSON object per line, with keys :format=ID and :shots=N; may be repeated")
            ->option_text("FILE[:key=value]...")
            ->allow_extra_args(false);
    verb.add_option("--format", options.format,
                    "Format of the task files, an id of `list tasks` [found by the fields of the first row]")
        ->option_text("ID")
        ->check(offersIds("tasks"))
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
        readPath(request, path);
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
    print("{} ({}): {}{} questions{}, {}; * = the metric that papers report\n", task.name, task.formatId,
          grouped(count), of, examples, evaluation.dtype);
    printMetrics(task, evaluation);
    printSubjects(task);
}

} // namespace secateur::cli
