#include "analysis/gallery/recipe_parts.h"

#include "analysis/metrics/metric.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Adds --score and the options of the protocol. @returns the path of the scored text; empty if it is missing
std::string addScore(RecipeStep& step, const RecipeChoice& choice, const StepScore& score) {
    const std::string path = fileOf(choice, score.name);
    if (!score.name.empty() && path.empty())
        addMissing(step, score.name);
    if (!path.empty())
        addOption(step.arguments, "--score", path);
    if (score.isPerWord)
        addOption(step.arguments, "--protocol", "word_ppl");
    if (score.window > 0)
        addOption(step.arguments, "--window", std::to_string(score.window));
    if (score.tokens > 0)
        addOption(step.arguments, "--score-tokens", std::to_string(score.tokens));
    return path;
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
        addOption(command, "--new-tokens", std::to_string(step.newTokens));
    if (step.warmup >= 0)
        addOption(command, "--warmup", std::to_string(step.warmup));
    if (step.runs > 0)
        addOption(command, "--runs", std::to_string(step.runs));
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

void addSeries(CommandLine& command, const RecipeChoice& choice, const SweepChoice& step) {
    if (!step.preset.empty()) {
        addOption(command, "--preset", step.preset);
        addOption(command, "--size", choice.size == SweepSize::quick ? "quick" : "paper");
        return;
    }
    addOption(command, "--strategy", step.strategies);
    addOption(command, "--budgets", step.budgets);
    if (step.repetitions > 1)
        addOption(command, "--repeat", std::to_string(step.repetitions));
}

/// Adds --recover, --recover-data and --recover-epochs.
void addRecovery(RecipeStep& step, const RecipeChoice& choice, const SweepChoice& choices) {
    if (choices.recover.empty())
        return;
    addOption(step.arguments, "--recover", choices.recover);
    const std::string data = fileOf(choice, choices.recoverData);
    if (!data.empty())
        addOption(step.arguments, "--recover-data", data);
    else if (!choices.recoverData.empty())
        addMissing(step, choices.recoverData);
    if (choices.recoverEpochs > 0)
        addOption(step.arguments, "--recover-epochs", std::to_string(choices.recoverEpochs));
}

/// What the points of a sweep must have. @param tasks those with a file @param scored source of the scored text
NeededPoints neededPoints(const RecipeChoice& choice, const SweepChoice& choices, std::vector<SweepSeries> series,
                          std::span<const StepTask> tasks, std::string scored) {
    NeededPoints needed{.series = std::move(series), .recovered = choices.recover, .needsText = true};
    if (choices.recoverEpochs > 0)
        needed.recovered += fmt::format(":epochs={}", choices.recoverEpochs);
    for (const StepTask& task : tasks)
        needed.tasks.push_back(fileOf(choice, task.name));
    needed.limit = choices.limit;
    needed.needsTimes = choices.wantsTimes;
    needed.scored = std::move(scored);
    return needed;
}

} // namespace

std::vector<SweepSeries> seriesOfStep(const RecipeChoice& choice, const Session& session, const SweepChoice& step) {
    return step.preset.empty() ? seriesOf(step.strategies, step.budgets, step.repetitions)
                               : presetSeries(preset(step.preset), choice.size, session.model.spec);
}

RecipeStep sweepStep(const RecipeChoice& choice, const Session& session, const SweepChoice& choices) {
    StepText calibration = fitting(choices.calibration, session);
    if (isTaskName(calibration.name)) // a task of `sweep` is scored, not calibrated on
        calibration.name = {};
    const StepScore score = fitting(choices.score, session);
    RecipeStep step = newStep(choice, choices.id, choices.summary, "sweep");
    addSeries(step.arguments, choice, choices);
    addText(step, choice, calibration);
    const std::string scored = addScore(step, choice, score);
    const std::vector<StepTask> tasks = addTasks(step, choice, choices.tasks, choices.limit);
    addTimes(step.arguments, choices);
    if (!choices.protect.empty())
        addOption(step.arguments, "--protect", std::string(choices.protect));
    addRecovery(step, choice, choices);
    addSession(step, choice);

    std::vector<SweepSeries> series = seriesOfStep(choice, session, choices);
    step.tokens = sweepTokens(choice, session, choices, series, tasks);
    NeededPoints needed = neededPoints(choice, choices, std::move(series), tasks,
                                       scored.empty() ? sourceOf(choice, calibration.name) : scored);
    needed.scoredTokens = score.tokens;
    needed.window = score.window;
    needed.isPerWord = score.isPerWord;
    step.isDone = holdsPoints(session, needed);
    return step;
}

} // namespace secateur
