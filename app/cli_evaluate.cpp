#include "analysis/evaluation.h"
#include "analysis/kernels.h"
#include "analysis/runner.h"
#include "analysis/text_evaluator.h"
#include "analysis/usage_error.h"
#include "app/cli_common.h"
#include "app/evaluate_latency.h"
#include "app/evaluate_task.h"
#include "app/evaluate_text.h"
#include "backends/available_memory.h"
#include "backends/mask_digest.h"
#include "backends/open_tokenizer.h"
#include "backends/result_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace secateur::cli {

namespace {

struct Arguments {
    std::string path;
    RunOptions run;
    std::vector<std::string> masks; ///< files; empty = dense
    std::string against = "dense";
    TextOptions text;
    TaskOptions tasks;
    LatencyOptions latency;
};

std::string fileName(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

/// What the run is compared with, in the same type; nothing for the dense model itself unless a mask is named.
std::optional<Contender> referenceOf(const Arguments& arguments, ReadyModel& ready) {
    if (arguments.against == "none" || (arguments.against == "dense" && !ready.mask))
        return std::nullopt;
    const Model& model = *ready.model;
    PruningMask mask(model.spec());
    std::string name;
    if (arguments.against != "dense") {
        mask = maskOf(arguments.against, model, ready.warnings).mask;
        name = fileName(arguments.against);
    }
    return Contender{{name, maskDigest(mask)}, model.runner().plan(mask, ready.plan->type())};
}

std::vector<TaskEvaluation> evaluateTasks(ReadyModel& ready, const std::vector<AskedTask>& asked, const Contender& run,
                                          const std::optional<Contender>& reference, const Progress& progress) {
    const Model& model = *ready.model;
    const auto tokenizer = openTokenizer(model.card());
    for (const std::string& warning : tokenizer->card().warnings)
        if (std::ranges::find(ready.warnings, warning) == ready.warnings.end())
            ready.warnings.push_back(warning);
    std::vector<TaskRun> compared;
    if (reference)
        compared = askTasks(model, *reference->plan, *tokenizer, asked, progress.part(0, 0.5));
    std::vector<TaskRun> runs = askTasks(model, *run.plan, *tokenizer, asked, progress.part(reference ? 0.5 : 0, 1));
    std::vector<TaskEvaluation> tasks;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        tasks.push_back(taskEvaluation(asked[i], std::move(runs[i])));
        if (reference)
            compareWith(tasks.back(), reference->mask, std::move(compared[i]));
    }
    return tasks;
}

double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<Evaluation> evaluateMasks(ReadyModel& ready, const Arguments& arguments, const Console& console) {
    const Model& model = *ready.model;
    std::vector<PruningMask> masks;
    for (const std::string& path : arguments.masks)
        masks.push_back(maskOf(path, model, ready.warnings).mask);
    const Progress whole = console.progress();
    EvaluationText text = readText(ready, arguments.text, whole.part(0, 0));
    const Progress progress = withTimeLeft(whole, console);
    TextEvaluator evaluator(model, std::move(text.scored),
                            {ready.plan->type(), availableMemory() / 4, arguments.text.batchTokens,
                             std::numeric_limits<double>::infinity()},
                            progress.part(0, 0));
    std::vector<Evaluation> runs;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto count = static_cast<double>(masks.size());
        const Progress part = progress.part(static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
        MaskEvaluation found = evaluator.evaluate(masks[i], {}, part);
        Evaluation run{{fileName(arguments.masks[i]), maskDigest(masks[i])},
                       std::string(name(evaluator.type())),
                       model.kernels().device(),
                       {},
                       since(begin),
                       found.reusedLayers,
                       {}};
        run.text = TextEvaluation{text.source, text.digest, std::move(found.run),
                                  ReferenceText{{}, std::move(found.dense), found.difference}};
        runs.push_back(std::move(run));
    }
    return runs;
}

void evaluateSeveral(const Arguments& arguments, const Console& console) {
    if (arguments.against != "dense")
        throw UsageError("several masks are compared with the dense model only", "--against");
    const auto begin = std::chrono::steady_clock::now();
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, console.progress().part(0, 0));
    const std::vector<Evaluation> runs = evaluateMasks(ready, arguments, console);
    if (console.json) {
        fmt::print("{}\n", evaluationsJson(fullCard(*ready.model), runs, since(begin), ready.warnings));
        return;
    }
    printRuns(runs);
    for (const std::string& warning : ready.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

void evaluateOne(const Arguments& arguments, const Console& console) {
    const TextOptions& text = arguments.text;
    const auto begin = std::chrono::steady_clock::now();
    const Progress progress = console.progress();
    std::vector<AskedTask> tasks = readTasks(arguments.tasks, text.rules.bos, text.batchTokens, progress.part(0, 0));
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const Contender run{{ready.mask ? fileName(arguments.run.mask) : "", maskDigest(ready.plan->mask())}, ready.plan};
    const std::optional<Contender> reference = referenceOf(arguments, ready);

    Evaluation evaluation{run.mask, std::string(name(ready.plan->type())), ready.model->kernels().device(), {}, 0, 0,
                          {}};
    const int parts = (text.path.empty() ? 0 : 1) + (tasks.empty() ? 0 : 1) + (arguments.latency.isAsked ? 1 : 0);
    double part = 0;
    const auto nextPart = [&] {
        const double from = part++;
        return progress.part(from / parts, part / parts);
    };
    std::optional<EvaluationText> read;
    if (!text.path.empty())
        read = readText(ready, text, progress.part(0, 0));
    if (arguments.latency.isAsked)
        timeModel(evaluation, ready, arguments.latency,
                  read ? read->scored.windows.sequences.front().ids : std::vector<int>(), run, reference, nextPart());
    if (read)
        evaluation.text =
            evaluateText(ready, *read, text.batchTokens, run, reference, withTimeLeft(nextPart(), console));
    nameClasses(tasks, *ready.model);
    if (!tasks.empty())
        evaluation.tasks = evaluateTasks(ready, tasks, run, reference, withTimeLeft(nextPart(), console));
    evaluation.seconds = since(begin);
    evaluation.warnings = ready.warnings;
    if (console.json) {
        fmt::print("{}\n", evaluationJson(fullCard(*ready.model), evaluation, arguments.tasks.listsAnswers));
        return;
    }
    if (evaluation.text)
        printText(*evaluation.text, evaluation);
    for (const TaskEvaluation& task : evaluation.tasks)
        printTask(task, evaluation);
    printLatency(evaluation);
    for (const std::string& warning : evaluation.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

void evaluateVerb(Arguments& arguments, const Console& console) {
    if (arguments.text.path.empty() && arguments.tasks.paths.empty() && !arguments.latency.isAsked)
        throw UsageError("there is nothing to evaluate on; name a text, a task by --task, or ask for --latency",
                         "--text");
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
    auto arguments = std::make_shared<Arguments>();
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
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli evaluate SmolLM2-135M-Instruct.Q4_1.gguf --text wiki.test.raw --mask M.json");
    verb->callback([arguments, &console] { evaluateVerb(*arguments, console); });
}

} // namespace secateur::cli
