#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/price.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_kept.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/evaluate_text.h"
#include "app/cli/ranks.h"
#include "app/cli/run_forecast.h"
#include "app/reference/offered_values.h"
#include "backends/base/runtime.h"
#include "backends/text/task_file.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace secateur::cli {

namespace {

struct EvaluateArguments {
    std::string path;
    RunOptions run;
    std::vector<std::string> masks; ///< mask files; empty = dense
    std::string against = "dense";
    TextOptions text;
    TaskOptions tasks;
    LatencyOptions latency;
    std::string out; ///< session file; empty = none
    bool predicts = false;

    /// Whether a text is scored: the text of --text, or the built-in text if there is neither --task nor --latency.
    bool wantsText() const { return !text.path.empty() || (tasks.paths.empty() && !latency.isWanted); }
};

std::string fileName(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::optional<EvaluationKeeper> keeperOf(const EvaluateArguments& arguments, const Model& model) {
    if (arguments.out.empty())
        return std::nullopt;
    return EvaluationKeeper(arguments.out, model);
}

/// The reference of the run, planned in the dtype of the run, without an adapter. None with --against none, and none if
/// a dense run would be compared with itself.
std::optional<PlannedMask> referenceOf(const EvaluateArguments& arguments, ReadyModel& ready,
                                       std::optional<EvaluationKeeper>& keeper) {
    if (arguments.against == "none" || (arguments.against == "dense" && !ready.mask && !ready.hasReferenceModel()))
        return std::nullopt;
    const Model& model = ready.reference();
    PruningMask mask(model.spec());
    std::string name;
    if (arguments.against != "dense") {
        const MaskRecord record = maskOf(arguments.against, *ready.model, ready.warnings);
        mask = record.mask;
        name = keeper ? keeper->add(fileName(arguments.against), record) : fileName(arguments.against);
    }
    return PlannedMask{{name, maskDigest(mask)},
                       model.runner().plan(mask, ready.plan->type()),
                       &model,
                       ready.hasReferenceModel() ? EvaluatedAdapter() : ready.adapter};
}

/// The reference with the adapter of the run, for times, on which an adapter has no effect: runs of one model can
/// alternate.
std::optional<PlannedMask> timedReference(const std::optional<PlannedMask>& reference, const ReadyModel& ready) {
    if (!reference || !ready.hasReferenceModel())
        return reference;
    return PlannedMask{reference->mask, ready.model->runner().plan(reference->plan->mask(), ready.plan->type()),
                       ready.model.get(), ready.adapter};
}

void addPrice(Evaluation& evaluation, const ModelCard& card, const PruningMask& mask) {
    const Price price = PriceList(card).price(mask);
    evaluation.parameters = price.parameters.left;
    evaluation.kvBytesPerToken = price.kvBytesPerToken.left;
}

/// The inputs of an evaluation. All of them are read before the model runs.
struct Inputs {
    std::optional<EvaluationText> text;
    std::optional<SequenceSet> sequences; ///< replace the text for encoders without a head
    std::vector<AskedTask> tasks;
    std::shared_ptr<const Tokenizer> tokenizer; ///< only set if there are tasks
};

/// Tokens for timing: the beginning of the text. Empty if there is no text.
std::vector<int> firstTokensOf(const Inputs& inputs) {
    if (inputs.text)
        return inputs.text->scored.windows.sequences.front().ids;
    return inputs.sequences ? inputs.sequences->sequences.front().ids : std::vector<int>();
}

std::shared_ptr<const Tokenizer> tokenizerOf(ReadyModel& ready) {
    auto tokenizer = openTokenizer(ready.model->card());
    for (const std::string& warning : tokenizer->card().warnings)
        if (std::ranges::find(ready.warnings, warning) == ready.warnings.end())
            ready.warnings.push_back(warning);
    return tokenizer;
}

std::vector<TaskEvaluation> evaluateTasks(ReadyModel& ready, const Inputs& inputs, const PlannedMask& run,
                                          const std::optional<PlannedMask>& reference,
                                          std::optional<EvaluationKeeper>& keeper, const Progress& progress) {
    const auto ask = [&](const PlannedMask& planned, const AskedTask& one, const Progress& part) {
        return keeper ? keptTask(*keeper, ready, planned, *inputs.tokenizer, one, part)
                      : askTask(*planned.model, *planned.plan, *inputs.tokenizer, one, part);
    };
    std::vector<TaskEvaluation> tasks;
    const auto count = static_cast<double>(inputs.tasks.size());
    for (const AskedTask& one : inputs.tasks) {
        const auto done = static_cast<double>(tasks.size());
        const Progress own = progress.part(done / count, (done + 1) / count);
        std::optional<TaskRun> compared;
        if (reference)
            compared = ask(*reference, one, own.part(0, 0.5));
        tasks.push_back(taskEvaluation(one, ask(run, one, own.part(reference ? 0.5 : 0, 1))));
        if (compared)
            compareWith(tasks.back(), reference->mask, std::move(*compared));
    }
    return tasks;
}

/// Prints the expected time of several masks. The dense model runs only once.
void forecast(const TextEvaluator& evaluator, const std::vector<PruningMask>& masks, const ModelSpec& spec,
              const Console& console) {
    const double dense = evaluator.expectedSeconds(PruningMask(spec));
    double seconds = dense;
    for (const PruningMask& mask : masks)
        seconds += evaluator.expectedSeconds(mask) - dense;
    console.announce(
        seconds, forecastText(seconds, fmt::format("{} tokens, dense and under {} masks",
                                                   grouped(static_cast<std::uint64_t>(evaluator.text().windows.tokens)),
                                                   masks.size())));
}

/// Scores the text under each mask. The dense model runs only once.
std::vector<Evaluation> runMasks(const ReadyModel& ready, EvaluationText text, const std::vector<std::string>& names,
                                 const std::vector<PruningMask>& masks, std::int64_t batchTokens,
                                 const Console& console, const Progress& progress) {
    const Model& model = *ready.model;
    std::optional<Perplexity> dense; // of the model without its adapter
    if (ready.hasReferenceModel()) {
        const auto plan = ready.reference().runner().plan(PruningMask(model.spec()), ready.plan->type());
        dense = perplexity(ready.reference(), *plan, text.scored, batchTokens, progress.part(0, 0), cluster());
    }
    TextEvaluator evaluator(model, std::move(text.scored),
                            {ready.plan->type(), availableMemory() / 4, batchTokens,
                             std::numeric_limits<double>::infinity(), dense.has_value(), cluster()},
                            progress.part(0, 0));
    forecast(evaluator, masks, model.spec(), console);
    std::vector<Evaluation> runs;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto count = static_cast<double>(masks.size());
        const Progress part = progress.part(static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
        MaskEvaluation found = evaluator.evaluate(masks[i], {}, part);
        if (dense) {
            found.dense = *dense;
            found.difference = pairedDifference(found.run, found.dense);
        }
        Evaluation run{{names[i], maskDigest(masks[i])},
                       std::string(name(evaluator.type())),
                       model.kernels().device(),
                       {},
                       secondsSince(begin),
                       found.reusedLayers,
                       {}};
        run.text = TextEvaluation{text.source, text.digest, std::move(found.run),
                                  ReferenceText{{}, std::move(found.dense), found.difference}};
        run.text->windows = found.windows;
        run.adapter = ready.adapter;
        runs.push_back(std::move(run));
    }
    return runs;
}

std::vector<Evaluation> evaluateMasks(ReadyModel& ready, const EvaluateArguments& arguments, const Console& console) {
    const Model& model = *ready.model;
    std::optional<EvaluationKeeper> keeper = keeperOf(arguments, model);
    std::vector<PruningMask> masks;
    std::vector<std::string> names;
    for (const std::string& path : arguments.masks) {
        MaskRecord record = maskOf(path, model, ready.warnings);
        names.push_back(keeper ? keeper->add(fileName(path), record) : fileName(path));
        masks.push_back(std::move(record.mask));
    }
    const Progress whole = console.progress();
    EvaluationText text = readText(ready, arguments.text, whole.part(0, 0));
    const auto predictor = predictorFor(arguments.predicts, ready, text, keeper, whole.part(0, 0));
    const Progress progress = withTimeLeft(whole, console);
    std::vector<Evaluation> runs =
        keeper ? KeptText(*keeper, ready, text, arguments.text.batchTokens).under(names, masks, progress)
               : runMasks(ready, std::move(text), names, masks, arguments.text.batchTokens, console, progress);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        addPrice(runs[i], model.card(), masks[i]);
        runs[i].predicted = predicted(predictor, masks[i], ready.warnings);
    }
    return runs;
}

void evaluateSeveral(const EvaluateArguments& arguments, const Console& console) {
    if (arguments.against != "dense")
        throw UsageError("several masks are compared with the dense model only", "--against");
    const auto begin = std::chrono::steady_clock::now();
    RunOptions run = arguments.run;
    run.hasOtherMasks = true;
    ReadyModel ready = openToRun(arguments.path, run, console, console.progress().part(0, 0));
    if (givesPooledOutput(*ready.model))
        throw UsageError("an encoder without a head is evaluated under one mask only", "--mask");
    const std::vector<Evaluation> runs = evaluateMasks(ready, arguments, console);
    addOverwrittenFiles(*ready.model, ready.warnings);
    if (console.json) {
        printJson(evaluationsJson(fullCard(*ready.model), runs, secondsSince(begin), ready.warnings));
        return;
    }
    printRuns(runs);
    printNotes(ready.warnings);
}

Inputs readInputs(ReadyModel& ready, const EvaluateArguments& arguments, std::vector<AskedTask> tasks,
                  const std::optional<PlannedMask>& reference, const Progress& progress) {
    Inputs inputs;
    if (arguments.wantsText() && givesPooledOutput(*ready.model)) {
        if (!reference)
            throw Error("is an encoder without a head: a text shows only the distance of pooled outputs under a mask",
                        ready.model->card().path, "Give a mask by --mask");
        inputs.sequences = readSequences(ready, arguments.text, progress);
    } else if (arguments.wantsText()) {
        inputs.text = readText(ready, arguments.text, progress);
    }
    for (AskedTask& asked : tasks)
        nameClasses(asked, ready.model->card());
    inputs.tasks = std::move(tasks);
    if (!inputs.tasks.empty())
        inputs.tokenizer = tokenizerOf(ready);
    return inputs;
}

void forecast(const Model& model, const Inputs& inputs, const LatencyOptions& latency,
              std::vector<std::shared_ptr<const Plan>> plans, const Console& console, const Progress& progress) {
    RunForecast expected(model, std::move(plans), console, progress);
    if (!expected.isWanted())
        return;
    if (inputs.text)
        expected.add(sizeOf(inputs.text->scored));
    if (inputs.sequences)
        expected.add(sizeOf(*inputs.sequences));
    for (const AskedTask& asked : inputs.tasks)
        expected.add(workOf(asked, model.spec(), *inputs.tokenizer, progress), asked.task.name);
    if (latency.isWanted && latency.generates(model.spec()))
        expected.add(latency.generation);
    if (latency.isWanted)
        expected.add(latency.prefill);
    expected.say();
}

Evaluation evaluated(ReadyModel& ready, const EvaluateArguments& arguments, std::vector<AskedTask> tasks,
                     const Console& console) {
    const Progress whole = console.progress();
    const Model& model = *ready.model;
    std::optional<EvaluationKeeper> keeper = keeperOf(arguments, model);
    PlannedMask run{{ready.mask ? fileName(arguments.run.mask) : "", maskDigest(ready.plan->mask())},
                    ready.plan,
                    &model,
                    ready.adapter};
    if (keeper && ready.mask)
        run.mask.name = keeper->add(run.mask.name, *ready.mask);
    const std::optional<PlannedMask> reference = referenceOf(arguments, ready, keeper);
    const Inputs inputs = readInputs(ready, arguments, std::move(tasks), reference, whole.part(0, 0));
    const std::optional<PlannedMask> timed = timedReference(reference, ready);
    std::vector<std::shared_ptr<const Plan>> plans{run.plan};
    if (timed)
        plans.insert(plans.begin(), timed->plan);
    forecast(model, inputs, arguments.latency, std::move(plans), console, whole.part(0, 0));

    Evaluation evaluation{run.mask, std::string(name(ready.plan->type())), model.kernels().device(), {}, 0, 0, {}};
    evaluation.adapter = ready.adapter;
    if (inputs.text && ready.mask) {
        const auto predictor = predictorFor(arguments.predicts, ready, *inputs.text, keeper, whole.part(0, 0));
        evaluation.predicted = predicted(predictor, run.plan->mask(), ready.warnings);
    }
    const int parts =
        (arguments.wantsText() ? 1 : 0) + (inputs.tasks.empty() ? 0 : 1) + (arguments.latency.isWanted ? 1 : 0);
    auto nextPart = [&whole, &console, parts, done = 0]() mutable {
        const double from = done++;
        return withTimeLeft(whole.part(from / parts, (from + 1) / parts), console);
    };
    if (arguments.latency.isWanted)
        timeModel(evaluation, ready, arguments.latency, firstTokensOf(inputs), run, timed, nextPart());
    if (arguments.latency.isWanted && keeper)
        keeper->keep(evaluation);
    if (inputs.text)
        evaluation.text =
            keeper
                ? KeptText(*keeper, ready, *inputs.text, arguments.text.batchTokens).under(run, reference, nextPart())
                : evaluateText(*inputs.text, arguments.text.batchTokens, run, reference, nextPart());
    if (inputs.sequences)
        evaluation.pooled = evaluatePooled(ready, arguments.text, *inputs.sequences, run, *reference, nextPart());
    if (!inputs.tasks.empty())
        evaluation.tasks = evaluateTasks(ready, inputs, run, reference, keeper, nextPart());
    addPrice(evaluation, model.card(), run.plan->mask());
    addOverwrittenFiles(model, ready.warnings);
    evaluation.warnings = ready.warnings;
    return evaluation;
}

void evaluateOne(const EvaluateArguments& arguments, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    const TextOptions& text = arguments.text;
    const Progress progress = console.progress().part(0, 0);
    std::vector<AskedTask> tasks = readTasks(arguments.tasks, text.rules.bos, text.batchTokens, progress);
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress);
    Evaluation evaluation = evaluated(ready, arguments, std::move(tasks), console);
    evaluation.seconds = secondsSince(begin);
    if (console.json) {
        printJson(evaluationJson(fullCard(*ready.model), evaluation, arguments.tasks.listsAnswers));
        return;
    }
    if (evaluation.text)
        printText(*evaluation.text, evaluation);
    if (evaluation.pooled)
        printPooled(*evaluation.pooled, evaluation);
    for (const TaskEvaluation& task : evaluation.tasks)
        printTask(task, evaluation);
    printLatency(evaluation);
    printNotes(evaluation.warnings);
}

void evaluateVerb(EvaluateArguments& arguments, const Console& console) {
    checkTimesAlone(arguments.latency.isWanted);
    if (arguments.predicts && (arguments.masks.empty() || !arguments.wantsText()))
        throw UsageError("requires --mask and a text", "--predict");
    if (arguments.masks.size() > 1 && !arguments.tasks.paths.empty())
        throw UsageError("several masks are evaluated on a text only; run tasks for each mask separately", "--task");
    if (arguments.masks.size() > 1 && arguments.latency.isWanted)
        throw UsageError("several masks are evaluated on a text only; time each mask separately", "--latency");
    if (arguments.masks.size() > 1)
        return evaluateSeveral(arguments, console);
    if (!arguments.masks.empty())
        arguments.run.mask = arguments.masks.front();
    evaluateOne(arguments, console);
}

} // namespace

void addEvaluate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<EvaluateArguments>();
    CLI::App* verb = program.add_subcommand("evaluate", "Measure quality and speed of a model, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    addTextOptions(*verb, arguments->text);
    verb->add_option(
            "--mask", arguments->masks,
            "Mask .json to evaluate; may be repeated to compare several masks with the dense model, which runs once")
        ->option_text("FILE")
        ->allow_extra_args(false);
    addTaskOptions(*verb, arguments->tasks);
    addLatencyOptions(*verb, arguments->latency);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--against", arguments->against,
                     "Reference of the comparison on the same windows and questions: dense, none, or a mask .json")
        ->option_text("dense|none|MASK")
        ->check(offers({"dense", "none"}))
        ->capture_default_str();
    verb->add_option(
            "--out", arguments->out,
            "Session .h5 to write or extend; results that it holds are not computed again, and a run that Ctrl+C "
            "stopped continues")
        ->option_text("FILE");
    verb->add_flag(
        "--predict", arguments->predicts,
        "Also predict the change of the loss before the mask runs, from gradients on 1,024 tokens of the text; "
        "--out keeps the gradients, and a session that has them gives the prediction without this flag");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli evaluate SmolLM2-135M-Instruct.Q4_1.gguf --text wiki.test.raw --mask M.json");
    verb->callback([arguments, verb, &console] {
        for (const char* option : {"--protocol", "--window", "--seq-len", "--max-tokens"})
            if (verb->count(option) > 0 && !arguments->wantsText())
                throw UsageError("requires --text", option);
        evaluateVerb(*arguments, console);
    });
}

} // namespace secateur::cli
