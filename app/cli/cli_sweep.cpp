#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/campaigns/campaign.h"
#include "analysis/campaigns/presets.h"
#include "analysis/campaigns/text_parts.h"
#include "analysis/running/runner.h"
#include "analysis/session/sweep_known.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/measure_text.h"
#include "app/cli/ranks.h"
#include "app/cli/search_logs.h"
#include "app/cli/sweep_output.h"
#include "app/cli/sweep_recovery.h"
#include "app/cli/sweep_session.h"
#include "app/reference/offered_values.h"
#include "backends/base/runtime.h"
#include "backends/export/export_targets.h"
#include "backends/text/sweep_texts.h"
#include "backends/text/task_file.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/training/sweep_recovery.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace secateur::cli {

namespace {

struct SweepArguments {
    std::string path;
    std::vector<std::string> strategies;
    std::string budgets;
    int repetitions = 1;
    std::string preset;
    std::string size = "quick";
    std::string compensations = "own";
    std::string part;
    SweepRequest request; ///< without its series
    RunOptions run;
    MeasureOptions calibration;
    SweepTextRequest texts; ///< without the calibration text
    TaskOptions tasks;
    RecoveryChoice recovery;
    bool wantsLatency = false;
    LatencyRules latency;
    SweepFiles files;
    int stabilityParts = 1;         ///< 1 = masks are not chosen on parts of the text
    bool limitsCalibration = false; ///< whether --max-tokens was given
};

/// The series that the arguments name. @throws UsageError
std::vector<SweepSeries> seriesFor(const SweepArguments& arguments, const ModelSpec& spec) {
    if (!arguments.preset.empty())
        return presetSeries(preset(arguments.preset), sweepSizeOf(arguments.size), spec);
    return seriesOf(join(arguments.strategies, ","), arguments.budgets, arguments.repetitions);
}

/// Checks the arguments before the model is opened. @throws UsageError
void checkArguments(SweepArguments& arguments) {
    checkTimesAlone(arguments.wantsLatency);
    const bool namesAny = !arguments.strategies.empty() || !arguments.budgets.empty();
    const bool namesBoth = !arguments.strategies.empty() && !arguments.budgets.empty();
    if (arguments.preset.empty() ? !namesBoth : namesAny)
        throw UsageError("needs --strategy and --budgets, or --preset alone", "sweep");
    if (!arguments.part.empty())
        parsePart(arguments.part, arguments.request);
    arguments.request.compensations = parseCompensations(arguments.compensations);
    if (arguments.recovery.isWanted()) {
        settingsOf(arguments.recovery);
        if (!arguments.run.adapter.empty())
            throw UsageError("An adapter cannot be trained on top of another one", "--adapter",
                             "Merge it into the weights first: export --adapter");
    }
    if (arguments.preset.empty()) {
        seriesFor(arguments, {});
        return;
    }
    const SweepPreset& row = preset(arguments.preset);
    if (!arguments.limitsCalibration)
        arguments.calibration.text.rules.mostTokens = row.points(sweepSizeOf(arguments.size)).calibrationTokens;
    if (arguments.request.protect == "none")
        arguments.request.protect = row.protect;
}

BosMode perplexityMode(BosRule rule) {
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
    return BosMode::tokenizerDefault;
}

/// Reads the texts. A BOS rule that was named applies to both.
/// @param logs must outlive the result
SweepInputs inputsFor(const ReadyModel& ready, const SweepArguments& arguments, std::vector<AskedTask> tasks,
                      SearchLogs& logs, const Console& console, const Progress& progress) {
    SweepTextRequest request = arguments.texts;
    request.calibration = arguments.calibration.text;
    const BosRule bos = request.calibration.rules.bos;
    if (bos != BosRule::tokenizerDefault)
        request.scored.bos = perplexityMode(bos);
    SweepInputs inputs = readSweepTexts(*ready.model, request, progress);
    inputs.extend = [&model = *ready.model, &logs](const PruneRequest& prune, PruneInputs& added) {
        added.fileBytes = fileBytesOf(model, prune.strategy);
        logs.serve(model, prune, added);
    };
    inputs.type = ready.plan->type();
    inputs.batchTokens = arguments.calibration.batchTokens;
    inputs.streamBytes = availableMemory() / 4;
    for (AskedTask& asked : tasks)
        nameClasses(asked, ready.model->card());
    inputs.tasks = std::move(tasks);
    if (!inputs.tasks.empty())
        inputs.tokenizer = openTokenizer(ready.model->card());
    if (arguments.wantsLatency)
        inputs.latency = arguments.latency;
    if (arguments.recovery.isWanted())
        inputs.recovery = sweepRecovery(ready.model, arguments.recovery, adaptersFolder(arguments.files.out),
                                        openOptions(console, arguments.run.memoryBudget), progress);
    inputs.warnings.insert(inputs.warnings.begin(), ready.warnings.begin(), ready.warnings.end());
    return inputs;
}

/// Prints the cost of what is left to do. @param onParts seconds of choosing masks on parts of the text
void announce(const SweepPlan& plan, const SweepCost& cost, double onParts, const Console& console) {
    const double seconds = cost.seconds() + onParts;
    const std::size_t left = plan.left.size();
    std::string text = fmt::format("at most {:.{}f} s for {}", seconds, seconds < 10 ? 1 : 0, counted(left, "point"));
    if (left < plan.points)
        text += fmt::format(" of {}", grouped(plan.points));
    if (cost.choosingPasses > 0)
        text += fmt::format(", {} passes over the calibration text", significant(cost.choosingPasses));
    if (cost.scoringPasses > 0)
        text += fmt::format(", {} passes over the scored text", significant(cost.scoringPasses));
    if (cost.trainings > 0)
        text += fmt::format(", {} on {} tokens each", counted(static_cast<std::uint64_t>(cost.trainings), "training"),
                            shortCount(cost.trainingTokens));
    if (onParts > 0)
        text += ", and masks on parts of the text";
    console.announce(seconds, text);
}

/// Runs what is left to do, and stores each point. @returns the curves of the request
Curves sweep(const Model& model, const SweepArguments& arguments, const SweepRequest& request,
             const SweepInputs& inputs, SweepKeeper& keeper, const Console& console, const Progress& progress) {
    const Session before = keeper.session();
    const SweepKnown known = knownOf(before);
    const SweepPlan plan = planSweep(model, request, inputs, known);
    if (plan.failed > 0)
        printNote("{} failed in an earlier run; --retry runs them again", counted(plan.failed, "point"));
    const int parts = arguments.stabilityParts;
    SweepCost cost;
    double onParts = 0; // seconds
    if (console.showsProgress()) {
        cost = costOf(model, request, inputs, plan, progress.part(0, 0));
        if (parts > 1)
            onParts = costOnParts(model, request, inputs, known, parts, progress.part(0, 0)).seconds();
        if (!plan.isDone() || onParts > 0)
            announce(plan, cost, onParts, console);
    }
    const Progress timed = withTimeLeft(progress, console);
    const auto keep = [&](const SweepNews& news) { keeper.keep(news); };
    const double share = onParts > 0 ? onParts / (onParts + cost.seconds()) : 0;
    try {
        if (parts > 1)
            chooseOnParts(model, request, inputs, known, parts, keep, timed.part(0, share));
        if (plan.isDone())
            return plan.known;
        return runSweep(model, request, inputs, known, plan, cost, keep, timed.part(share, 1));
    } catch (const Cancelled&) {
        spdlog::warn("the points so far are saved in {}: the same command continues from there", arguments.files.out);
        throw;
    }
}

void sweepVerb(SweepArguments& arguments, const Console& console) {
    checkArguments(arguments);
    if (writesResults())
        checkFiles(arguments.files);
    const auto begin = std::chrono::steady_clock::now();
    const Progress progress = console.progress();
    const Progress reading = progress.part(0, 0);
    std::vector<AskedTask> tasks = readTasks(arguments.tasks, perplexityMode(arguments.calibration.text.rules.bos),
                                             arguments.calibration.batchTokens, reading);
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, reading);
    SweepRequest request = arguments.request;
    request.series = seriesFor(arguments, ready.model->spec());
    request.baseName = arguments.run.mask;
    if (ready.mask)
        request.base = ready.mask->mask;
    if (arguments.calibration.text.rules.length > 0)
        request.positions = static_cast<int>(arguments.calibration.text.rules.length);
    SweepKeeper keeper(arguments.files.out, *ready.model);
    SearchLogs logs(arguments.files.out);
    SweepInputs inputs = inputsFor(ready, arguments, std::move(tasks), logs, console, reading);
    inputs.ranks = keeper.ranks();
    Curves curves = sweep(*ready.model, arguments, request, inputs, keeper, console, progress);
    logs.remove();
    addOverwrittenFiles(*ready.model, curves.warnings);
    if (writesResults())
        writeFiles(arguments.files, keeper.session(), curves);
    printSweep(keeper.session(), curves, secondsSince(begin), console.json);
}

void addPointOptions(CLI::App& verb, SweepArguments& arguments) {
    verb.add_option("--strategy", arguments.strategies, "ID[:key=value]... (see: list strategies); several by comma")
        ->option_text("ID,...")
        ->check(offersIds("strategies", Several::byComma))
        ->allow_extra_args(false);
    verb.add_option(
            "--budgets", arguments.budgets,
            "How much to cut, several by comma: units (8), shares of all units of that kind (12.5%), or shares of "
            "what the model has (params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%)")
        ->option_text("LIST");
    verb.add_option("--repeat", arguments.repetitions,
                    "Runs of strategies that depend on the seed, each with the next seed")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    verb.add_option("--preset", arguments.preset, "Sweep of a paper (see: list presets), instead of --strategy")
        ->option_text("ID")
        ->check(offersIds("presets"));
    verb.add_option("--size", arguments.size, "Size of the preset: quick or paper")
        ->check(CLI::IsMember({"quick", "paper"}))
        ->capture_default_str();
    verb.add_option(
            "--compensate", arguments.compensations,
            "Compensation of masks, several by comma: own (as the strategy leaves them), none, bias, scale, both, "
            "weights")
        ->option_text("LIST")
        ->check(offers({"own", "none", "bias", "scale", "both", "weights"}, Several::byComma))
        ->capture_default_str();
    verb.add_option("--protect", arguments.request.protect,
                    "Units that are not cut: first_last, none, or layers and heads such as 0,29,3.4,5.1-3")
        ->check(offers({"first_last", "none"}))
        ->capture_default_str();
    verb.add_option("--seed", arguments.request.seed, "Seed of the first run of a strategy that depends on it")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{std::numeric_limits<std::int64_t>::max()} / 2))
        ->capture_default_str();
    verb.add_option("--stability", arguments.stabilityParts,
                    "Also choose the masks on each of N parts of the calibration text, without scoring them (figure: "
                    "stability)")
        ->option_text("N")
        ->check(CLI::Range(2, 1000));
    verb.add_option("--part", arguments.part,
                    "Run every N-th point, beginning with the I-th: 3/16; join with session merge")
        ->option_text("I/N");
    verb.add_flag("--retry", arguments.request.retriesFailed, "Also run the points that failed in an earlier run");
}

void addScoreOptions(CLI::App& verb, SweepArguments& arguments) {
    PerplexityRules& scored = arguments.texts.scored;
    verb.add_option(
            "--score", arguments.texts.score,
            "Text, .jsonl or folder of texts to score masks on [the last third of the calibration's text, which "
            "is then not calibrated on]")
        ->option_text("FILE|DIR");
    verb.add_option("--score-tokens", scored.mostTokens, "Maximum number of tokens of the scored text [all]")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
    verb.add_option_function<std::string>(
            "--protocol", [&scored](const std::string& text) { scored.protocol = textProtocolOf(text); },
            "token_ppl: loss per token in independent windows; word_ppl: loss per word in rolling windows [token_ppl]")
        ->option_text("ID")
        ->check(offers({"token_ppl", "word_ppl"}));
    verb.add_option("--window", scored.window,
                    "Window length of the scored text in tokens [the model's context; token_ppl: at most 2048]")
        ->check(CLI::Range(2, 1 << 24));
    CLI::Option* task =
        verb.add_option("--task", arguments.tasks.paths,
                        "Task file to score masks on, with keys :format=ID and :shots=N; may be repeated")
            ->option_text("FILE[:key=value]...")
            ->allow_extra_args(false);
    verb.add_option("--format", arguments.tasks.format,
                    "Format of the task files [found by the fields of the first row]")
        ->option_text("ID")
        ->check(offersIds("tasks"))
        ->needs(task);
    verb.add_option("--shots", arguments.tasks.shots, "Number of solved questions in front of each question")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str()
        ->needs(task);
    verb.add_option("--limit", arguments.tasks.limit, "Maximum number of questions of each task, drawn at random [all]")
        ->check(CLI::Range(1, 1 << 30))
        ->needs(task);
    CLI::Option* latency = verb.add_flag("--latency", arguments.wantsLatency, "Time generation under each mask");
    verb.add_option("--prompt-tokens", arguments.latency.promptTokens, "Prompt length in tokens")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--new-tokens", arguments.latency.newTokens, "Number of generated tokens")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--warmup", arguments.latency.warmup, "Uncounted runs of the generation")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--runs", arguments.latency.runs, "Counted runs of the generation")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
}

} // namespace

void addSweep(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<SweepArguments>();
    CLI::App* verb = program.add_subcommand("sweep", "Run strategies over budgets, and score every mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    addPointOptions(*verb, *arguments);
    addSequenceOptions(*verb, arguments->calibration);
    addScoreOptions(*verb, *arguments);
    addRecoveryOptions(*verb, arguments->recovery);
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--out", arguments->files.out,
                     "Session .h5 to write or extend; points that it holds are not run again, and a sweep that was "
                     "stopped continues")
        ->required()
        ->option_text("FILE");
    verb->add_option("--csv", arguments->files.csv, "Folder for curves.csv, a table of all points")->option_text("DIR");
    verb->add_option("--masks", arguments->files.masks, "Folder for the masks of all points")->option_text("DIR");
    addForceOption(*verb, arguments->files.force);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli sweep SmolLM2-135M-Instruct.Q4_1.gguf --strategy gate_norm,random_attention "
                 "--budgets 1,4,7 --repeat 5 --score wiki.test.raw --out sweep.h5");
    verb->callback([arguments, verb, &console] {
        arguments->limitsCalibration = verb->count("--max-tokens") > 0;
        arguments->texts.splitsBoth = verb->count("--split") > 0;
        if (verb->count("--size") > 0 && arguments->preset.empty())
            throw UsageError("requires --preset", "--size");
        sweepVerb(*arguments, console);
    });
}

} // namespace secateur::cli
