#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/metrics/ablation.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/measure_text.h"
#include "app/cli/ranks.h"
#include "app/cli/run_forecast.h"
#include "app/reference/offered_values.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "backends/text/measure_on_text.h"
#include "backends/text/sequence_text.h"
#include "backends/text/task_file.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace secateur::cli {

namespace {

struct AblateArguments {
    std::string path;
    std::string units = "heads";
    int screen = 0;
    int exact = 10;
    RunOptions run;
    MeasureOptions text;
    TaskOptions tasks;
    std::string out;
};

constexpr std::array unitNames{std::pair{"heads", CutUnit::head}, std::pair{"attention", CutUnit::attention},
                               std::pair{"mlps", CutUnit::mlp}, std::pair{"blocks", CutUnit::block}};

const MetricInfo& ablationOf(CutUnit unit) {
    const auto rows = ablationMetrics();
    return *std::ranges::find(rows, unit, [](const MetricInfo& row) { return row.ranks.value(); });
}

/// The requested metrics. @throws UsageError that lists the known metrics
std::vector<MetricRequest> requestsOf(const AblateArguments& arguments) {
    const std::string options = arguments.screen > 0
                                    ? fmt::format(":screen={}:exact={}", arguments.screen, arguments.exact)
                                : arguments.tasks.paths.empty() ? ""
                                                                : ":of=accuracy";
    std::string ids;
    for (const std::string& unit : split(arguments.units, ',')) {
        const auto found = std::ranges::find_if(unitNames, [&](const auto& known) { return known.first == unit; });
        if (found == unitNames.end())
            throw UsageError(fmt::format("\"{}\" must be one of heads, attention, mlps, blocks", unit), "--units");
        ids += fmt::format("{}{}{}", ids.empty() ? "" : ",", ablationOf(found->second).id, options);
    }
    return parseMetricRequests(ids);
}

std::optional<BosMode> modeOf(BosRule rule) {
    switch (rule) {
    case BosRule::always:
        return BosMode::always;
    case BosRule::never:
        return BosMode::never;
    case BosRule::firstOnly:
        return BosMode::firstOnly;
    case BosRule::tokenizerDefault:
        break;
    }
    return {};
}

/// Interval between writes of the session file. If the program is killed, at most the values of this interval and of
/// the running layer are lost. A write takes some milliseconds.
constexpr auto mostUnkept = std::chrono::seconds(10);

/// The session file of `ablate --out`. Values in the file are not measured again. New values are written during the
/// run.
class AblationKeeper {
public:
    /// @param mask mask under which the model runs @throws Error if the file cannot be changed, or belongs to another
    /// model
    AblationKeeper(std::string path, const Model& model, const std::optional<SessionMask>& mask);

    const std::string& path() const { return m_path; }
    /// The session's results for these requests. @param like conditions that the results must have; the time is ignored
    std::vector<MetricResult> known(const std::vector<MetricRequest>& requests, const Measurement& like) const;
    /// Writes the results if the last write was at least mostUnkept ago. @throws Error
    void keepNowAndThen(const std::vector<MetricResult>& results);
    /// Writes the results. @throws Error
    void keep(const std::vector<MetricResult>& results);

private:
    std::string m_path;
    Session m_held;      ///< content of the file
    Session m_additions; ///< what keep() adds to the file in addition to the results: the model and its mask
    std::chrono::steady_clock::time_point m_lastKept = std::chrono::steady_clock::now();
};

AblationKeeper::AblationKeeper(std::string path, const Model& model, const std::optional<SessionMask>& mask)
    : m_path(std::move(path)) {
    m_additions.model = fullCard(model);
    if (mask)
        m_additions.masks.push_back(*mask);
    m_held = sessionToExtend(m_path, m_additions.model);
}

std::vector<MetricResult> AblationKeeper::known(const std::vector<MetricRequest>& requests,
                                                const Measurement& like) const {
    std::vector<MetricResult> found;
    for (const MetricRequest& request : requests)
        for (const MetricResult& result : m_held.results) {
            Measurement own = result.measurement;
            own.created = like.created;
            if (result.request.resultId() == request.resultId() && own == like)
                found.push_back(result);
        }
    return found;
}

void AblationKeeper::keepNowAndThen(const std::vector<MetricResult>& results) {
    if (std::chrono::steady_clock::now() - m_lastKept > mostUnkept)
        keep(results);
}

void AblationKeeper::keep(const std::vector<MetricResult>& results) {
    Session more = m_additions;
    more.created = utcNow();
    more.results = results;
    addToResults(more, m_path);
    m_lastKept = std::chrono::steady_clock::now();
}

/// A task that is run many times, each time without one unit.
struct AblatedTask {
    AskedTask asked;
    std::shared_ptr<const Tokenizer> tokenizer;
    TaskWork work;                   ///< of one run
    MeasuredData data;               ///< number of the questions, and of the tokens of one run
    std::vector<MetricResult> known; ///< values that are not measured again
};

AblationEffect accuracyDecrease(const AskedTask& asked, const TaskRun& dense, const TaskRun& run) {
    const std::vector<MetricDifference> differences = taskDifferences(dense, run);
    const auto found = std::ranges::find(differences, taskFormat(asked.task.formatId).metric, &MetricDifference::id);
    return {-found->value, found->standardError};
}

/// Sets the data and the measurement of the results.
void describeTaskResults(std::vector<MetricResult>& results, const ReadyModel& ready, const AblatedTask& task) {
    for (MetricResult& result : results) {
        result.data = task.data;
        result.measurement = measurementOf(*ready.model, *ready.plan, dataDigest(task.asked));
    }
}

/// Prepares a task for ablation. @param asked the task as read from its file @throws Error as workOf()
AblatedTask ablatedTask(const ReadyModel& ready, AskedTask asked, std::shared_ptr<const Tokenizer> tokenizer,
                        const Progress& progress) {
    nameClasses(asked, ready.model->card());
    TaskWork work = workOf(asked, ready.model->spec(), *tokenizer, progress);
    AblatedTask task{std::move(asked), std::move(tokenizer), std::move(work), {}, {}};
    task.data = {task.asked.path,
                 static_cast<std::int64_t>(task.work.questions),
                 task.work.size.tokens,
                 task.work.size.tokens,
                 task.work.size.positions,
                 "question",
                 std::string(name(task.asked.rules.tokens.bos))};
    return task;
}

/// Measures by how much the accuracy that papers report for the task decreases.
/// @param requests requests with of=accuracy @throws as askTask(); Cancelled if stopped before the first value
std::vector<MetricResult> ablateTask(const ReadyModel& ready, const AblatedTask& task,
                                     const std::vector<MetricRequest>& requests, const AblationMemory& memory,
                                     const Progress& progress) {
    const Model& model = *ready.model;
    const auto ask = [&](const Plan& plan, const Progress& part) {
        return askTask(model, plan, *task.tokenizer, task.asked, part);
    };
    std::optional<TaskRun> whole; // run of the whole model; needed only if a value is missing
    const AblationTrial trial = [&](const PruningMask& mask, const Progress& part) {
        if (!whole)
            whole = ask(*ready.plan, part.part(0, 0));
        return accuracyDecrease(task.asked, *whole, ask(*model.runner().plan(mask, ready.plan->type()), part));
    };
    AblationMemory own{memory.known, {}};
    if (memory.more)
        own.more = [&](std::vector<MetricResult> results) {
            describeTaskResults(results, ready, task);
            memory.more(results);
        };
    auto results = ablateEach(model.spec(), ready.plan->mask(), requests, trial, own, progress, {}, cluster());
    describeTaskResults(results, ready, task);
    return results;
}

/// Runs ablations on a text or on tasks. If the session file exists, its values are reused.
class Ablating {
public:
    Ablating(const AblateArguments& arguments, const Console& console)
        : m_arguments(arguments)
        , m_console(console)
        , m_requests(requestsOf(arguments))
        , m_progress(console.progress())
        , m_tasks(readTasks(arguments.tasks, modeOf(arguments.text.text.rules.bos), arguments.text.batchTokens,
                            m_progress.part(0, 0)))
        , m_ready(openToRun(arguments.path, arguments.run, console, m_progress.part(0, 0))) {
        std::optional<SessionMask> cut;
        if (m_ready.mask) {
            mask = {std::filesystem::path(arguments.run.mask).filename().string(), maskDigest(m_ready.mask->mask)};
            if (!m_ready.mask->mask.keepsAll())
                cut = SessionMask{mask.name, mask.digest, *m_ready.mask};
        }
        if (!arguments.out.empty())
            m_keeper.emplace(arguments.out, *m_ready.model, cut);
    }

    void run() {
        if (m_tasks.empty())
            onText();
        else
            onTasks();
        addOverwrittenFiles(model(), m_ready.warnings);
        warnings = m_ready.warnings;
        if (m_keeper && !isWhole())
            spdlog::warn("the results so far are in {}: the same command continues from there", m_keeper->path());
    }

    const Model& model() const { return *m_ready.model; }
    bool hasSeveralTasks() const { return m_arguments.tasks.paths.size() > 1; }
    bool isWhole() const {
        const auto isMeasured = [](const TaskResults& one) {
            return std::ranges::all_of(one.results, &MetricResult::isWhole);
        };
        return !m_isStopped && std::ranges::all_of(results, isMeasured);
    }

    EvaluatedMask mask;
    std::vector<TaskResults> results; ///< one for each task; of a text one without a name
    std::vector<std::string> warnings;

private:
    AblationMemory memoryOf(const std::vector<MetricResult>& known) {
        AblationMemory memory{known, {}};
        if (m_keeper)
            memory.more = [this](const std::vector<MetricResult>& part) {
                m_isNew = true;
                m_keeper->keepNowAndThen(part);
            };
        return memory;
    }

    /// @param task name for the warnings; empty = a text, or the only task
    std::vector<MetricResult> knownOf(const Measurement& like, const std::string& task = {}) {
        if (!m_keeper)
            return {};
        auto known = m_keeper->known(m_requests, like);
        for (const MetricResult& result : known)
            m_ready.warnings.push_back(fmt::format(
                "{} values of {}{} come from {}",
                std::ranges::count_if(result.values.values(), [](double value) { return !std::isnan(value); }),
                result.request.resultId(), task.empty() ? "" : " on " + task, m_keeper->path()));
        return known;
    }

    /// Adds results, and writes them to the session file if some of them are new.
    void add(std::string task, std::vector<MetricResult> more) {
        if (m_keeper && m_isNew && !more.empty())
            m_keeper->keep(more);
        m_isNew = false;
        results.push_back({std::move(task), std::move(more)});
    }

    void onText() {
        std::vector<MetricResult> known;
        const auto readInput = [&](const Progress& rest) {
            MeasureInput input{m_ready.plan,
                               readSequenceText(model(), m_arguments.text.text, rest.part(0, 0)),
                               {},
                               m_arguments.text.batchTokens};
            const SequenceText& text = input.text;
            m_ready.warnings.insert(m_ready.warnings.end(), text.warnings.begin(), text.warnings.end());
            input.measurement = measurementOf(model(), *input.plan, text.digest);
            known = knownOf(input.measurement);
            input.memory = memoryOf(known);
            input.cluster = cluster();
            AblationRun run{*input.plan, text.set.sequences, text.labels, input.batchTokens};
            run.memory.known = known;
            RunForecast forecast(model(), {m_ready.plan}, m_console, rest.part(0, 0));
            forecast.add(predictedSizeOf(text.set, model().spec()), ablationPasses(model(), run, m_requests));
            forecast.say();
            input.progress = withTimeLeft(rest, m_console);
            return input;
        };
        add({}, measure(model(), m_requests, readInput, m_progress));
    }

    void onTasks() {
        const std::vector<AblatedTask> tasks = readyTasks();
        const Progress progress = withTimeLeft(m_progress, m_console);
        const auto count = static_cast<double>(tasks.size());
        for (const AblatedTask& task : tasks) {
            const auto done = static_cast<double>(results.size());
            try {
                add(task.asked.task.name, ablateTask(m_ready, task, m_requests, memoryOf(task.known),
                                                     progress.part(done / count, (done + 1) / count)));
            } catch (const Cancelled&) {
                if (results.empty())
                    throw;
                m_isStopped = true; // the tasks before this one have results
            }
            if (!isWhole())
                return;
        }
    }

    /// Prepares the tasks, and prints the expected time of all of them.
    std::vector<AblatedTask> readyTasks() {
        const auto tokenizer = openTokenizer(model().card());
        for (const std::string& warning : tokenizer->card().warnings)
            m_ready.warnings.push_back(warning);
        RunForecast forecast(model(), {m_ready.plan}, m_console, m_progress.part(0, 0));
        std::vector<AblatedTask> tasks;
        bool hasParts = false;
        for (AskedTask& asked : m_tasks) {
            AblatedTask& task =
                tasks.emplace_back(ablatedTask(m_ready, std::move(asked), tokenizer, m_progress.part(0, 0)));
            task.known = knownOf(measurementOf(model(), *m_ready.plan, dataDigest(task.asked)),
                                 m_tasks.size() > 1 ? task.asked.task.name : "");
            const std::int64_t parts = partsToTry(model().spec(), m_ready.plan->mask(), m_requests, task.known);
            if (parts > 0)
                forecast.add(task.work, task.asked.task.name, parts);
            hasParts = hasParts || parts > 0;
        }
        if (hasParts)
            forecast.say();
        return tasks;
    }

    const AblateArguments& m_arguments;
    const Console& m_console;
    std::vector<MetricRequest> m_requests;
    Progress m_progress;
    std::vector<AskedTask> m_tasks;
    ReadyModel m_ready;
    std::optional<AblationKeeper> m_keeper;
    bool m_isNew = false;     ///< whether values were measured that add() has not written
    bool m_isStopped = false; ///< whether the run was stopped before the first value of a task
};

/// A unit and its value.
struct Row {
    std::string part;
    double value = 0;
    double error = 0;
};

std::vector<Row> rowsOf(const MetricResult& result) {
    const bool isHead = result.request.info->scope == Scope::head;
    std::vector<Row> rows;
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
        for (std::size_t cell = 0; cell < result.values.columns(); ++cell)
            if (!std::isnan(result.values(layer, cell))) {
                const double predicted = result.errorAt(layer, cell);
                rows.push_back({fmt::format("{}{}{}", layer, isHead ? fmt::format(".{}", cell) : "",
                                            predicted > 0 ? " (predicted)" : ""),
                                result.values(layer, cell),
                                predicted > 0 ? predicted : result.features.front().values(layer, cell)});
            }
    std::ranges::stable_sort(rows, {}, &Row::value);
    return rows;
}

/// Prints the units with the lowest and the highest values.
void printEnds(const MetricResult& result) {
    constexpr std::size_t lowest = 12;
    constexpr std::size_t highest = 4;
    const MetricInfo& info = *result.request.info;
    const std::vector<Row> rows = rowsOf(result);
    const auto textOf = [](const Row& row) {
        return std::array<std::string, 3>{row.part, significant(row.value, 4), significant(row.error, 2)};
    };
    Rows<3> lines;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows.size() > lowest + highest && i == lowest)
            lines.push_back({"..."});
        if (rows.size() <= lowest + highest || i < lowest || i + highest >= rows.size())
            lines.push_back(textOf(rows[i]));
    }
    const std::string unit = info.unit.empty() ? "" : fmt::format(" ({})", info.unit);
    print(Table(
        {{std::string(name(info.scope))}, {std::string(info.title) + unit, Align::point}, {"error", Align::point}},
        lines));
    if (rows.size() > lowest + highest)
        print("{} units in all: --json lists them, --out keeps them for `plot`\n", rows.size());
}

std::string documentOf(const Ablating& ablating, double seconds) {
    const ModelCard card = fullCard(ablating.model());
    const std::vector<TaskResults>& results = ablating.results;
    if (!ablating.hasSeveralTasks())
        return measureJson(card, results.front().results, ablating.mask, seconds, peakBytes(), ablating.warnings);
    return measureTasksJson(card, results, ablating.mask, seconds, peakBytes(), ablating.warnings);
}

void printAll(const Ablating& ablating) {
    for (const TaskResults& task : ablating.results) {
        if (ablating.hasSeveralTasks())
            print("{}\n", task.task);
        for (const MetricResult& result : task.results)
            printEnds(result);
    }
    printNotes(ablating.warnings);
    for (const TaskResults& task : ablating.results)
        for (const MetricResult& result : task.results)
            for (const std::string& warning : result.warnings)
                printNote("{}: {}", result.request.resultId(), warning);
}

/// Runs the verb `ablate`. @returns false if it was stopped
bool ablateVerb(const AblateArguments& arguments, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    Ablating ablating(arguments, console);
    ablating.run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (console.json)
        printJson(documentOf(ablating, seconds));
    else
        printAll(ablating);
    return ablating.isWhole();
}

} // namespace

void addAblate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<AblateArguments>();
    CLI::App* verb = program.add_subcommand(
        "ablate", "Measure the increase of the loss when each head, attention sublayer, MLP or block is removed alone");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--units", arguments->units,
                     "Units to remove, one at a time: heads, attention, mlps, blocks, separated by commas")
        ->option_text("LIST")
        ->check(offers({"heads", "attention", "mlps", "blocks"}, Several::byComma))
        ->capture_default_str();
    CLI::Option* screen =
        verb->add_option(
                "--screen", arguments->screen,
                "Find the N units of each kind with the lowest values; other values are predicted where that suffices")
            ->option_text("N")
            ->check(CLI::Range(1, 1 << 30));
    verb->add_option(
            "--screen-exact", arguments->exact,
            "With --screen: limit for exact values, in per cent of the cost of all exact values; 100 = until it is "
            "certain which units are the N lowest")
        ->option_text("PERCENT")
        ->check(CLI::Range(1, 100))
        ->capture_default_str()
        ->needs(screen);
    CLI::Option* text = addSequenceOptions(*verb, arguments->text);
    addTaskOptions(*verb, arguments->tasks);
    verb->get_option("--task")->excludes(text)->excludes(screen)->description(
        "Task (see: list tasks), with keys :format=ID and :shots=N; may be repeated: measure the decrease of its "
        "accuracy instead of the increase of the loss on a text");
    verb->remove_option(verb->get_option("--answers"));
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--out", arguments->out,
                     "Session .h5 to write, or to add to; values that it holds are not measured again, and a run that "
                     "Ctrl+C stopped continues from it")
        ->option_text("FILE");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli ablate SmolLM2-135M-Instruct.Q4_1.gguf --units heads,mlps --text wiki.test.raw "
                 "--max-tokens 2048 --out s.h5");
    verb->callback([arguments, &console] { console.isIncomplete = !ablateVerb(*arguments, console); });
}

} // namespace secateur::cli
