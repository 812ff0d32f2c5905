#include "analysis/gallery/recipe_commands.h"

#include "analysis/base/text.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

/// Expected tokens of a question with its options, of which the shared beginning runs once, and of each example.
constexpr double tokensOfQuestion = 120;
/// Expected questions of a task without a limit.
constexpr double questionsOfTask = 2000;
/// Expected tokens of a text whose size is not known.
constexpr double tokensOfText = 300'000;
/// Bytes of a token: few for the expected cost, and more than texts have for deciding whether a text was read whole.
constexpr double usualBytesOfToken = 4;
constexpr double mostBytesOfToken = 8;
/// Expected cost of a generated token, beside one that is read among many: all weights are read for it.
constexpr double stepCost = 5;

/// About the size of resources/texts/calibration.txt.
constexpr std::int64_t builtInBytes = 34'000;

/// Names of tasks, as opposed to texts: their prompts are read by --task.
bool isTaskName(std::string_view name) {
    return name.ends_with(".jsonl") || name == "mmlu";
}

/// The size of a text; that of the built-in text where a file is missing.
std::optional<std::int64_t> bytesOf(const RecipeChoice& choice, std::string_view name) {
    if (fileOf(choice, name).empty())
        return builtInBytes;
    const auto found = choice.bytes.find(std::string(name));
    return found == choice.bytes.end() ? std::nullopt : std::optional(found->second);
}

/// The source of a text in results.
std::string sourceOf(const RecipeChoice& choice, std::string_view name) {
    const std::string path = fileOf(choice, name);
    return path.empty() ? "built-in" : path;
}

/// Expected tokens of a text of which at most `limit` are read; 0 = all.
double expectedTokens(const RecipeChoice& choice, std::string_view name, std::int64_t limit) {
    const auto bytes = bytesOf(choice, name);
    const double whole = bytes ? static_cast<double>(*bytes) / usualBytesOfToken : tokensOfText;
    return limit > 0 ? std::min(static_cast<double>(limit), whole) : whole;
}

double tokensOfTasks(std::span<const StepTask> tasks, int limit) {
    double tokens = 0;
    for (const StepTask& task : tasks)
        tokens += (limit > 0 ? limit : questionsOfTask) * tokensOfQuestion * (1 + task.shots);
    return tokens;
}

/// A length that fits the model's context. Encoders and some decoders cannot read longer texts.
std::int64_t fitting(std::int64_t length, const Session& session) {
    const int context = session.model.spec.context;
    return context > 0 ? std::min<std::int64_t>(length, context) : length;
}

StepText fitting(StepText text, const Session& session) {
    text.length = fitting(text.length, session);
    return text;
}

StepScore fitting(StepScore score, const Session& session) {
    score.window = static_cast<int>(fitting(score.window, session));
    return score;
}

/// Adds --text or --task, --max-tokens and --seq-len. @returns false if a task is missing
bool addText(RecipeStep& step, const RecipeChoice& choice, const StepText& text) {
    const std::string path = fileOf(choice, text.name);
    if (!text.name.empty() && path.empty())
        addMissing(step, text.name);
    if (!path.empty())
        addTo(step.arguments, isTaskName(text.name) ? "--task" : "--text", path);
    addTo(step.arguments, "--max-tokens", std::to_string(text.tokens));
    addTo(step.arguments, "--seq-len", std::to_string(text.length));
    return !isTaskName(text.name) || !path.empty();
}

/// Adds --task for each task that has a file. @returns those tasks
std::vector<StepTask> addTasks(RecipeStep& step, const RecipeChoice& choice, std::span<const StepTask> tasks,
                               int limit) {
    std::vector<StepTask> found;
    for (const StepTask& task : tasks) {
        const std::string path = fileOf(choice, task.name);
        if (path.empty()) {
            addMissing(step, task.name);
            continue;
        }
        addTo(step.arguments, "--task", task.shots > 0 ? fmt::format("{}:shots={}", path, task.shots) : path);
        found.push_back(task);
    }
    if (!found.empty() && limit > 0)
        addTo(step.arguments, "--limit", std::to_string(limit));
    return found;
}

void addRules(CommandLine& command, const StepScore& score, std::string_view limitOption) {
    if (score.isPerWord)
        addTo(command, "--protocol", "word_ppl");
    if (score.window > 0)
        addTo(command, "--window", std::to_string(score.window));
    if (score.tokens > 0)
        addTo(command, limitOption, std::to_string(score.tokens));
}

/// The beginning of a step. @param tokens number for the summary; 0 = not named
RecipeStep stepOf(const RecipeChoice& choice, std::string_view id, std::string_view summary, std::string_view verb,
                  std::int64_t tokens) {
    RecipeStep step{.id = std::string(id), .summary = std::string(summary), .arguments = {std::string(verb)}};
    if (tokens > 0)
        step.summary += fmt::format(", on {} tokens", grouped(static_cast<std::uint64_t>(tokens)));
    step.arguments.push_back(choice.model);
    return step;
}

void addOut(RecipeStep& step, const RecipeChoice& choice) {
    addTo(step.arguments, "--out", choice.session);
}

/// The part of a text that strategies are calibrated on, if the rest is scored.
double calibratedShare(const RecipeChoice& choice, const SweepChoice& step) {
    return fileOf(choice, step.score.name).empty() ? 2.0 / 3 : 1;
}

/// Forward passes over the calibration text that choosing the masks of a series takes.
double choosingPasses(const SweepSeries& series, const ModelSpec& spec) {
    const StrategyInfo& info = *series.strategy.info;
    if (!series.strategy.readsText())
        return series.strategy.metric && series.strategy.metric->info->needs != Needs::weights ? 1 : 0;
    double passes = 0;
    for (const Budget& budget : series.budgets) {
        const double one =
            info.passes ? info.passes(spec, {.strategy = series.strategy, .budget = budget, .base = {}}) : 1;
        passes = info.measuresEachBudget ? passes + one : std::max(passes, one);
    }
    return passes;
}

LatencyRules timesOf(const SweepChoice& step) {
    LatencyRules rules;
    if (step.newTokens > 0)
        rules.newTokens = step.newTokens;
    if (step.warmup >= 0)
        rules.warmup = step.warmup;
    if (step.runs > 0)
        rules.runs = step.runs;
    return rules;
}

void addTimes(CommandLine& command, const SweepChoice& step) {
    if (!step.wantsTimes)
        return;
    command.emplace_back("--latency");
    if (step.newTokens > 0)
        addTo(command, "--new-tokens", std::to_string(step.newTokens));
    if (step.warmup >= 0)
        addTo(command, "--warmup", std::to_string(step.warmup));
    if (step.runs > 0)
        addTo(command, "--runs", std::to_string(step.runs));
}

/// Expected tokens of a sweep. Points of one series share the cost of choosing.
double sweepTokens(const RecipeChoice& choice, const Session& session, const SweepChoice& step,
                   std::span<const SweepSeries> series, std::span<const StepTask> tasks) {
    const auto points = static_cast<double>(pointsOf(series)) + 1; // with the dense model
    const double share = calibratedShare(choice, step);
    const double calibration = expectedTokens(choice, step.calibration.name, step.calibration.tokens);
    const double scored =
        share < 1 ? calibration * (1 - share) : expectedTokens(choice, step.score.name, step.score.tokens);
    double tokens = points * (scored + tokensOfTasks(tasks, step.limit));
    for (const SweepSeries& one : series)
        tokens += calibration * share * choosingPasses(one, session.model.spec);
    if (step.wantsTimes) {
        const LatencyRules rules = timesOf(step);
        tokens += points * (rules.warmup + rules.runs) * (rules.promptTokens + stepCost * rules.newTokens);
    }
    return tokens + static_cast<double>(pointsOf(series)) * (step.recover.empty() ? 0 : step.recoverTokens);
}

std::vector<SweepSeries> seriesFor(const RecipeChoice& choice, const Session& session, const SweepChoice& step) {
    return step.preset.empty() ? seriesOf(step.strategies, step.budgets, step.repetitions)
                               : presetSeries(preset(step.preset), choice.size, session.model.spec);
}

void addSeries(CommandLine& command, const RecipeChoice& choice, const SweepChoice& step) {
    if (!step.preset.empty()) {
        addTo(command, "--preset", step.preset);
        addTo(command, "--size", choice.size == SweepSize::quick ? "quick" : "paper");
        return;
    }
    addTo(command, "--strategy", step.strategies);
    addTo(command, "--budgets", step.budgets);
    if (step.repetitions > 1)
        addTo(command, "--repeat", std::to_string(step.repetitions));
}

} // namespace

std::string fileOf(const RecipeChoice& choice, std::string_view name) {
    const auto found = choice.files.find(std::string(name));
    return name.empty() || found == choice.files.end() ? std::string() : found->second;
}

void addTo(CommandLine& command, std::string_view option, std::string value) {
    command.emplace_back(option);
    command.push_back(std::move(value));
}

void addMissing(RecipeStep& step, std::string_view name) {
    if (std::ranges::find(step.missingFiles, name) == step.missingFiles.end())
        step.missingFiles.emplace_back(name);
}

bool holdsResult(const Session& session, const RecipeChoice& choice, const MetricRequest& request,
                 const StepText& text) {
    const std::string id = request.resultId();
    return std::ranges::any_of(session.results, [&](const MetricResult& result) {
        if (result.request.resultId() != id || !result.isWhole || result.measurement.maskDigest != "dense")
            return false;
        if (!result.data)
            return request.info->needs == Needs::weights;
        if (result.data->source != sourceOf(choice, text.name) || result.data->isPart())
            return false;
        const auto bytes = bytesOf(choice, text.name);
        const double whole = bytes ? static_cast<double>(*bytes) / mostBytesOfToken : tokensOfText;
        const double needed = std::min(static_cast<double>(text.tokens - text.length), whole);
        return static_cast<double>(result.data->allTokens) >= needed;
    });
}

RecipeStep measureStep(const RecipeChoice& choice, const Session& session, const MeasureStepChoice& choices) {
    const StepText text = fitting(choices.text, session);
    const std::vector<MetricRequest> all = parseMetricRequests(choices.metrics);
    std::vector<std::string> lacking;
    std::vector<std::string> every;
    bool runs = false;
    for (const MetricRequest& request : all) {
        every.push_back(request.resultId());
        runs |= request.info->needs != Needs::weights;
        if (!holdsResult(session, choice, request, text))
            lacking.push_back(every.back());
    }
    RecipeStep step = stepOf(choice, choices.id, choices.summary, "measure", runs ? text.tokens : 0);
    step.isDone = lacking.empty();
    addTo(step.arguments, "--metric", join(lacking.empty() ? every : lacking, ","));
    if (runs && !addText(step, choice, text))
        step.reason = fmt::format("there is no file {}", text.name);
    addOut(step, choice);
    step.tokens = runs ? choices.passes * expectedTokens(choice, text.name, text.tokens) : 0;
    return step;
}

RecipeStep ablateStep(const RecipeChoice& choice, const Session& session, const AblateChoice& choices) {
    const StepText text = fitting(choices.text, session);
    const bool byTask = choices.task && !fileOf(choice, choices.task->name).empty();
    RecipeStep step = stepOf(choice, choices.id, choices.summary, "ablate", byTask ? 0 : text.tokens);
    addTo(step.arguments, "--units", std::string(choices.units));
    double tokens = 0;
    if (byTask) {
        const std::vector<StepTask> tasks = addTasks(step, choice, {{*choices.task}}, choices.limit);
        tokens = tokensOfTasks(tasks, choices.limit);
    } else {
        if (choices.task)
            addMissing(step, choices.task->name);
        addText(step, choice, text);
        tokens = expectedTokens(choice, text.name, text.tokens);
    }
    addOut(step, choice);
    step.isDone = true;
    std::size_t units = 0;
    for (const auto& [unit, metric, cut] :
         {std::tuple{"heads", "ablation_head", CutUnit::head},
          std::tuple{"attention", "ablation_attention", CutUnit::attention},
          std::tuple{"mlps", "ablation_mlp", CutUnit::mlp}, std::tuple{"blocks", "ablation_block", CutUnit::block}}) {
        const std::vector<std::string> wanted = split(choices.units, ',');
        if (std::ranges::find(wanted, unit) == wanted.end())
            continue;
        units += unitCount(session.model.spec, cut);
        const std::string id = std::string(metric) + (byTask ? ":of=accuracy" : "");
        const bool isHeld = std::ranges::any_of(session.results, [&](const MetricResult& result) {
            return result.request.resultId() == id && result.isWhole && result.measurement.maskDigest == "dense" &&
                   (byTask || (result.data && result.data->source == sourceOf(choice, text.name)));
        });
        step.isDone = step.isDone && isHeld;
    }
    step.tokens = 0.6 * static_cast<double>(units) * tokens; // layers below the unit are shared
    return step;
}

RecipeStep sweepStep(const RecipeChoice& choice, const Session& session, const SweepChoice& choices) {
    StepText calibration = fitting(choices.calibration, session);
    if (isTaskName(calibration.name)) // a task of `sweep` is scored, not calibrated on
        calibration.name = {};
    const StepScore score = fitting(choices.score, session);
    RecipeStep step = stepOf(choice, choices.id, choices.summary, "sweep", 0);
    addSeries(step.arguments, choice, choices);
    addText(step, choice, calibration);
    const std::string scored = fileOf(choice, score.name);
    if (!score.name.empty() && scored.empty())
        addMissing(step, score.name);
    if (!scored.empty())
        addTo(step.arguments, "--score", scored);
    addRules(step.arguments, score, "--score-tokens");
    const std::vector<StepTask> tasks = addTasks(step, choice, choices.tasks, choices.limit);
    addTimes(step.arguments, choices);
    if (!choices.protect.empty())
        addTo(step.arguments, "--protect", std::string(choices.protect));
    if (!choices.compensate.empty())
        addTo(step.arguments, "--compensate", std::string(choices.compensate));
    if (!choices.recover.empty()) {
        addTo(step.arguments, "--recover", choices.recover);
        const std::string data = fileOf(choice, choices.recoverData);
        if (!data.empty())
            addTo(step.arguments, "--recover-data", data);
        else if (!choices.recoverData.empty())
            addMissing(step, choices.recoverData);
        if (choices.recoverSteps > 0)
            addTo(step.arguments, "--recover-steps", std::to_string(choices.recoverSteps));
        if (choices.recoverEpochs > 0)
            addTo(step.arguments, "--recover-epochs", std::to_string(choices.recoverEpochs));
    }
    addOut(step, choice);

    NeededPoints needed{.series = seriesFor(choice, session, choices)};
    step.tokens = sweepTokens(choice, session, choices, needed.series, tasks);
    if (!choices.compensate.empty())
        needed.compensations = split(choices.compensate, ',');
    needed.recovered = choices.recover;
    if (choices.recoverEpochs > 0)
        needed.recovered += fmt::format(":epochs={}", choices.recoverEpochs);
    needed.needsText = true;
    for (const StepTask& task : tasks)
        needed.tasks.push_back(fileOf(choice, task.name));
    needed.limit = choices.limit;
    needed.needsTimes = choices.wantsTimes;
    needed.scored = scored.empty() ? sourceOf(choice, calibration.name) : scored;
    needed.scoredTokens = score.tokens;
    needed.window = score.window;
    needed.isPerWord = score.isPerWord;
    step.isDone = holdsPoints(session, needed);
    return step;
}

RecipeStep evaluateStep(const RecipeChoice& choice, const Session& session, const EvaluateChoice& choices) {
    const StepScore score = fitting(choices.score, session);
    RecipeStep step = stepOf(choice, choices.id, choices.summary, "evaluate", 0);
    const std::string text = fileOf(choice, score.name);
    if (!score.name.empty() && text.empty())
        addMissing(step, score.name);
    if (!text.empty())
        addTo(step.arguments, "--text", text);
    addRules(step.arguments, score, "--max-tokens");
    const std::vector<StepTask> tasks = addTasks(step, choice, choices.tasks, choices.limit);
    addOut(step, choice);
    step.tokens = expectedTokens(choice, score.name, score.tokens) + tokensOfTasks(tasks, choices.limit);
    const std::string source = text.empty() ? "built-in" : text;
    bool hasText = false;
    std::set<std::string> answered;
    for (const Evaluation& evaluation : session.evaluations) {
        if (!evaluation.isOf("dense"))
            continue;
        hasText |= evaluation.text && evaluation.text->source == source && evaluation.text->isComplete();
        for (const TaskEvaluation& task : evaluation.tasks)
            answered.insert(task.source);
    }
    step.isDone = hasText && std::ranges::all_of(tasks, [&](const StepTask& task) {
                      return answered.contains(fileOf(choice, task.name));
                  });
    return step;
}

RecipeStep latencyStep(const RecipeChoice& choice, const Session& session, const LatencyChoice& choices) {
    RecipeStep step = stepOf(choice, choices.id, choices.summary, "evaluate", 0);
    step.arguments.emplace_back("--latency");
    addTo(step.arguments, "--new-tokens", std::to_string(choices.newTokens));
    std::vector<std::string> lengths;
    step.isDone = true;
    const int context = session.model.spec.context;
    std::vector<int> fit;
    std::ranges::copy_if(choices.lengths, std::back_inserter(fit),
                         [&](int length) { return context == 0 || length <= context; });
    if (fit.empty() && !choices.lengths.empty())
        fit = {context};
    for (const int length : fit) {
        lengths.push_back(std::to_string(length));
        step.tokens += 5.0 * length * (choices.bySublayer ? 2 : 1); // at least 1 + 3 runs
        step.isDone = step.isDone && std::ranges::any_of(session.evaluations, [&](const Evaluation& evaluation) {
                          return evaluation.isOf("dense") &&
                                 std::ranges::any_of(evaluation.prefills, [&](const Prefill& prefill) {
                                     return prefill.tokens == length && (!choices.bySublayer || prefill.run.bySublayer);
                                 });
                      });
    }
    if (!lengths.empty())
        addTo(step.arguments, "--lengths", join(lengths, ","));
    if (choices.bySublayer)
        addTo(step.arguments, "--by", "sublayer");
    if (choices.newTokens > 0) {
        const LatencyRules rules;
        step.tokens += (rules.warmup + rules.runs) * (rules.promptTokens + stepCost * choices.newTokens);
        step.isDone = step.isDone && std::ranges::any_of(session.evaluations, [&](const Evaluation& evaluation) {
                          return evaluation.isOf("dense") && evaluation.latency &&
                                 evaluation.latency->rules.newTokens == choices.newTokens;
                      });
    }
    addOut(step, choice);
    return step;
}

} // namespace secateur
