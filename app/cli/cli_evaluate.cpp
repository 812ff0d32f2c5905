#include "analysis/base/error.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/model/kernels.h"
#include "analysis/masks/price.h"
#include "analysis/running/runner.h"
#include "analysis/base/text.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_kept.h"
#include "app/cli/evaluate_latency.h"
#include "app/cli/evaluate_pooled.h"
#include "app/cli/evaluate_prediction.h"
#include "app/cli/evaluate_task.h"
#include "app/cli/evaluate_text.h"
#include "app/cli/run_forecast.h"
#include "backends/text/task_file.h"
#include "backends/base/available_memory.h"
#include "backends/session/mask_digest.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/json/result_json.h"

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
    std::vector<std::string> masks; ///< files; empty = dense
    std::string against = "dense";
    TextOptions text;
    TaskOptions tasks;
    LatencyOptions latency;
    std::string out; ///< session; empty = none is kept
    bool predicts = false;

    /// What is evaluated when nothing is named is the built-in text.
    bool asksForText() const { return !text.path.empty() || (tasks.paths.empty() && !latency.isAsked); }
};

std::string fileName(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::optional<EvaluationKeeper> keeperOf(const EvaluateArguments& arguments, const Model& model) {
    if (arguments.out.empty())
        return std::nullopt;
    return EvaluationKeeper(arguments.out, model);
}

/// What the run is compared with, in the same type; nothing for the dense model itself unless a mask is named.
std::optional<Contender> referenceOf(const EvaluateArguments& arguments, ReadyModel& ready,
                                     std::optional<EvaluationKeeper>& keeper) {
    if (arguments.against == "none" || (arguments.against == "dense" && !ready.mask))
        return std::nullopt;
    const Model& model = *ready.model;
    PruningMask mask(model.spec());
    std::string name;
    if (arguments.against != "dense") {
        const MaskRecord record = maskOf(arguments.against, model, ready.warnings);
        mask = record.mask;
        name = keeper ? keeper->add(fileName(arguments.against), record) : fileName(arguments.against);
    }
    return Contender{{name, maskDigest(mask)}, model.runner().plan(mask, ready.plan->type())};
}

void priceOf(Evaluation& evaluation, const ModelCard& card, const PruningMask& mask) {
    const Price price = PriceList(card).price(mask);
    evaluation.parameters = price.parameters.left;
    evaluation.kvBytesPerToken = price.kvBytesPerToken.left;
}

/// What an evaluation is asked of, read before anything runs.
struct Questions {
    std::optional<EvaluationText> text;
    std::optional<SequenceSet> sequences; ///< instead of a text, of encoders without a head
    std::vector<AskedTask> tasks;
    std::shared_ptr<const Tokenizer> tokenizer; ///< where there are tasks
};

/// What is timed: the text where one is asked for.
std::vector<int> beginningOf(const Questions& questions) {
    if (questions.text)
        return questions.text->scored.windows.sequences.front().ids;
    return questions.sequences ? questions.sequences->sequences.front().ids : std::vector<int>();
}

std::shared_ptr<const Tokenizer> tokenizerOf(ReadyModel& ready) {
    auto tokenizer = openTokenizer(ready.model->card());
    for (const std::string& warning : tokenizer->card().warnings)
        if (std::ranges::find(ready.warnings, warning) == ready.warnings.end())
            ready.warnings.push_back(warning);
    return tokenizer;
}

std::vector<TaskEvaluation> evaluateTasks(ReadyModel& ready, const Questions& questions, const Contender& run,
                                          const std::optional<Contender>& reference,
                                          std::optional<EvaluationKeeper>& keeper, const Progress& progress) {
    const auto ask = [&](const Contender& contender, const AskedTask& one, const Progress& part) {
        return keeper ? keptTask(*keeper, ready, contender, *questions.tokenizer, one, part)
                      : askTask(*ready.model, *contender.plan, *questions.tokenizer, one, part);
    };
    std::vector<TaskEvaluation> tasks;
    const auto count = static_cast<double>(questions.tasks.size());
    for (const AskedTask& one : questions.tasks) {
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

double secondsFrom(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The evaluator has timed the model already; the dense model runs once.
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

/// Under each mask beside the dense model, which runs once.
std::vector<Evaluation> runMasks(const ReadyModel& ready, EvaluationText text, const std::vector<std::string>& names,
                                 const std::vector<PruningMask>& masks, std::int64_t batchTokens,
                                 const Console& console, const Progress& progress) {
    const Model& model = *ready.model;
    TextEvaluator evaluator(
        model, std::move(text.scored),
        {ready.plan->type(), availableMemory() / 4, batchTokens, std::numeric_limits<double>::infinity()},
        progress.part(0, 0));
    forecast(evaluator, masks, model.spec(), console);
    std::vector<Evaluation> runs;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto count = static_cast<double>(masks.size());
        const Progress part = progress.part(static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
        MaskEvaluation found = evaluator.evaluate(masks[i], {}, part);
        Evaluation run{{names[i], maskDigest(masks[i])},
                       std::string(name(evaluator.type())),
                       model.kernels().device(),
                       {},
                       secondsFrom(begin),
                       found.reusedLayers,
                       {}};
        run.text = TextEvaluation{text.source, text.digest, std::move(found.run),
                                  ReferenceText{{}, std::move(found.dense), found.difference}};
        run.text->windows = found.windows;
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
        priceOf(runs[i], model.card(), masks[i]);
        runs[i].predicted = predicted(predictor, masks[i], ready.warnings);
    }
    return runs;
}

void evaluateSeveral(const EvaluateArguments& arguments, const Console& console) {
    if (arguments.against != "dense")
        throw UsageError("several masks are compared with the dense model only", "--against");
    const auto begin = std::chrono::steady_clock::now();
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, console.progress().part(0, 0));
    if (givesPooledOutput(*ready.model))
        throw UsageError("an encoder without a head is evaluated under one mask at a time", "--mask");
    const std::vector<Evaluation> runs = evaluateMasks(ready, arguments, console);
    if (console.json) {
        fmt::print("{}\n", evaluationsJson(fullCard(*ready.model), runs, secondsFrom(begin), ready.warnings));
        return;
    }
    printRuns(runs);
    for (const std::string& warning : ready.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

Questions readQuestions(ReadyModel& ready, const EvaluateArguments& arguments, std::vector<AskedTask> tasks,
                        const std::optional<Contender>& reference, const Progress& progress) {
    Questions questions;
    if (arguments.asksForText() && givesPooledOutput(*ready.model)) {
        if (!reference)
            throw Error("is an encoder without a head: what a text tells is how far a mask moves its pooled output",
                        ready.model->card().path, "Name a mask by --mask");
        questions.sequences = readSequences(ready, arguments.text, progress);
    } else if (arguments.asksForText()) {
        questions.text = readText(ready, arguments.text, progress);
    }
    for (AskedTask& asked : tasks)
        nameClasses(asked, ready.model->card());
    questions.tasks = std::move(tasks);
    if (!questions.tasks.empty())
        questions.tokenizer = tokenizerOf(ready);
    return questions;
}

void forecast(const Model& model, const Questions& questions, const LatencyOptions& latency,
              std::vector<std::shared_ptr<const Plan>> plans, const Console& console, const Progress& progress) {
    RunForecast expected(model, std::move(plans), console, progress);
    if (!expected.isWanted())
        return;
    if (questions.text)
        expected.add(sizeOf(questions.text->scored));
    if (questions.sequences)
        expected.add(sizeOf(*questions.sequences));
    for (const AskedTask& asked : questions.tasks)
        expected.add(workOf(asked, model.spec(), *questions.tokenizer, progress), asked.task.name);
    if (latency.isAsked && latency.generates(model.spec()))
        expected.add(latency.generation);
    if (latency.isAsked)
        expected.add(latency.prefill);
    expected.say();
}

Evaluation evaluated(ReadyModel& ready, const EvaluateArguments& arguments, std::vector<AskedTask> tasks,
                     const Console& console) {
    const Progress whole = console.progress();
    const Model& model = *ready.model;
    std::optional<EvaluationKeeper> keeper = keeperOf(arguments, model);
    Contender run{{ready.mask ? fileName(arguments.run.mask) : "", maskDigest(ready.plan->mask())}, ready.plan};
    if (keeper && ready.mask)
        run.mask.name = keeper->add(run.mask.name, *ready.mask);
    const std::optional<Contender> reference = referenceOf(arguments, ready, keeper);
    const Questions questions = readQuestions(ready, arguments, std::move(tasks), reference, whole.part(0, 0));
    std::vector<std::shared_ptr<const Plan>> plans{run.plan};
    if (reference)
        plans.insert(plans.begin(), reference->plan);
    forecast(model, questions, arguments.latency, std::move(plans), console, whole.part(0, 0));

    Evaluation evaluation{run.mask, std::string(name(ready.plan->type())), model.kernels().device(), {}, 0, 0, {}};
    if (questions.text && ready.mask) {
        const auto predictor = predictorFor(arguments.predicts, ready, *questions.text, keeper, whole.part(0, 0));
        evaluation.predicted = predicted(predictor, run.plan->mask(), ready.warnings);
    }
    const int parts =
        (arguments.asksForText() ? 1 : 0) + (questions.tasks.empty() ? 0 : 1) + (arguments.latency.isAsked ? 1 : 0);
    auto nextPart = [&whole, &console, parts, done = 0]() mutable {
        const double from = done++;
        return withTimeLeft(whole.part(from / parts, (from + 1) / parts), console);
    };
    if (arguments.latency.isAsked)
        timeModel(evaluation, ready, arguments.latency, beginningOf(questions), run, reference, nextPart());
    if (arguments.latency.isAsked && keeper)
        keeper->keep(evaluation);
    if (questions.text)
        evaluation.text =
            keeper ? KeptText(*keeper, ready, *questions.text, arguments.text.batchTokens)
                         .under(run, reference, nextPart())
                   : evaluateText(ready, *questions.text, arguments.text.batchTokens, run, reference, nextPart());
    if (questions.sequences)
        evaluation.pooled = evaluatePooled(ready, arguments.text, *questions.sequences, run, *reference, nextPart());
    if (!questions.tasks.empty())
        evaluation.tasks = evaluateTasks(ready, questions, run, reference, keeper, nextPart());
    priceOf(evaluation, model.card(), run.plan->mask());
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
    evaluation.seconds = secondsFrom(begin);
    if (console.json) {
        fmt::print("{}\n", evaluationJson(fullCard(*ready.model), evaluation, arguments.tasks.listsAnswers));
        return;
    }
    if (evaluation.text)
        printText(*evaluation.text, evaluation);
    if (evaluation.pooled)
        printPooled(*evaluation.pooled, evaluation);
    for (const TaskEvaluation& task : evaluation.tasks)
        printTask(task, evaluation);
    printLatency(evaluation);
    for (const std::string& warning : evaluation.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

void evaluateVerb(EvaluateArguments& arguments, const Console& console) {
    if (arguments.predicts && (arguments.masks.empty() || !arguments.asksForText()))
        throw UsageError("goes with --mask and a text", "--predict");
    if (arguments.masks.size() > 1 && !arguments.tasks.paths.empty())
        throw UsageError("several masks are evaluated on a text only; ask a task once for each mask", "--task");
    if (arguments.masks.size() > 1 && arguments.latency.isAsked)
        throw UsageError("several masks are evaluated on a text only; time each mask by itself", "--latency");
    if (arguments.masks.size() > 1)
        return evaluateSeveral(arguments, console);
    if (!arguments.masks.empty())
        arguments.run.mask = arguments.masks.front();
    evaluateOne(arguments, console);
}

} // namespace

void addEvaluate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<EvaluateArguments>();
    CLI::App* verb =
        program.add_subcommand("evaluate", "Measure how well a model does and how fast, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    addTextOptions(*verb, arguments->text);
    verb->add_option("--mask", arguments->masks,
                     "Mask .json of what to leave out; several, each with its own --mask, are compared with the dense "
                     "model, which runs once")
        ->option_text("FILE")
        ->allow_extra_args(false);
    addTaskOptions(*verb, arguments->tasks);
    addLatencyOptions(*verb, arguments->latency);
    addRunOptions(*verb, arguments->run);
    verb->add_option(
            "--against", arguments->against,
            "What to compare a mask with on the same windows and questions: dense, none, or another mask's .json")
        ->option_text("dense|none|MASK")
        ->capture_default_str();
    verb->add_option(
            "--out", arguments->out,
            "Session .h5 to write, or to add to; what it holds already is not run again, and what Ctrl+C stops "
            "goes on from there")
        ->option_text("FILE");
    verb->add_flag("--predict", arguments->predicts,
                   "Say besides what a mask was predicted to cost before it ran, from gradients on 1,024 tokens of the "
                   "text; --out keeps those, and where its session has them this is said without being asked for");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli evaluate SmolLM2-135M-Instruct.Q4_1.gguf --text wiki.test.raw --mask M.json");
    verb->callback([arguments, verb, &console] {
        for (const char* option : {"--protocol", "--window", "--seq-len", "--max-tokens"})
            if (verb->count(option) > 0 && !arguments->asksForText())
                throw UsageError("goes with --text", option);
        evaluateVerb(*arguments, console);
    });
}

} // namespace secateur::cli
