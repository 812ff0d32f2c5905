#include "analysis/error.h"
#include "analysis/evaluation.h"
#include "analysis/kernels.h"
#include "analysis/runner.h"
#include "analysis/text.h"
#include "analysis/text_evaluator.h"
#include "analysis/usage_error.h"
#include "app/cli_common.h"
#include "app/evaluate_task.h"
#include "backends/available_memory.h"
#include "backends/data_digest.h"
#include "backends/mask_digest.h"
#include "backends/open_tokenizer.h"
#include "backends/result_json.h"
#include "backends/text_source.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace secateur::cli {

namespace {

struct TextOptions {
    std::string path; ///< empty = no text is asked for
    std::string field;
    PerplexityRules rules;
    std::int64_t batchTokens = 4096;
};

struct Arguments {
    std::string path;
    RunOptions run;
    std::vector<std::string> masks; ///< files; empty = dense
    std::string against = "dense";
    TextOptions text;
    TaskOptions tasks;
};

/// A mask of the model, ready to run.
struct Contender {
    EvaluatedMask mask;
    std::shared_ptr<const Plan> plan;
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

/// Says with each step how long the rest will take, as far as the steps so far can tell.
Progress withTimeLeft(const Progress& progress, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    return Progress(
        [progress, begin](double fraction, std::string_view text) {
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            const bool known = fraction > 0.01 && fraction < 1 && seconds > 0.5;
            const double left = known ? seconds * (1 - fraction) / fraction : 0;
            progress.report(fraction, known ? fmt::format("{}, about {:.0f} s left", text, left) : std::string(text));
        },
        console.stop.get_token());
}

ScoredText textOf(const TextOptions& options, const PerplexityRules& rules, const Tokenizer& tokenizer,
                  const Progress& progress) {
    const std::vector<std::string> documents = readDocuments(options.path, options.field, TextSplit::windows);
    try {
        return scoredText(documents, tokenizer, rules, progress);
    } catch (const Error& error) {
        throw error.within(options.path);
    }
}

PerplexityRules rulesOf(const TextOptions& options, const Model& model) {
    try {
        return settled(options.rules, model.spec());
    } catch (const UsageError&) {
        throw;
    } catch (const Error& error) {
        throw error.within(model.card().path);
    }
}

/// The text in windows, with what there is to say of it among the warnings.
ScoredText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress) {
    const Model& model = *ready.model;
    const PerplexityRules rules = rulesOf(options, model);
    const int context = model.spec().context;
    if (context > 0 && rules.window > context)
        ready.warnings.push_back(
            fmt::format("a window of {} tokens is longer than the model's context of {}", rules.window, context));
    const auto tokenizer = openTokenizer(model.card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());
    ScoredText text = textOf(options, rules, *tokenizer, progress);
    spdlog::info("{} windows, {} tokens with those of context", text.windows.sequences.size(), text.windows.tokens);
    return text;
}

TextEvaluation evaluateText(ReadyModel& ready, const TextOptions& options, const Contender& run,
                            const std::optional<Contender>& reference, const Console& console, const Progress& whole) {
    const Model& model = *ready.model;
    const ScoredText text = readText(ready, options, whole.part(0, 0));
    const Progress progress = withTimeLeft(whole, console);
    std::optional<ReferenceText> compared;
    if (reference)
        compared = {
            reference->mask, perplexity(model, *reference->plan, text, options.batchTokens, progress.part(0, 0.5)), {}};
    TextEvaluation result{
        options.path,
        dataDigest(text.windows),
        perplexity(model, *run.plan, text, options.batchTokens, progress.part(reference ? 0.5 : 0, 1)),
        {}};
    if (compared)
        compared->difference = pairedDifference(result.perplexity, compared->perplexity);
    result.reference = std::move(compared);
    return result;
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

std::vector<std::string> row(const EvaluatedMask& mask, const Perplexity& run) {
    return {mask.name.empty() ? "dense" : mask.name, significant(run.perplexity(), 6),
            withError(run.lossNats, run.standardError)};
}

void printHeading(const TextEvaluation& text, const Evaluation& evaluation) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    fmt::print("{} of {}: {}{} tokens in {} {} of {}, BOS {}, {}\n", name(run.rules.protocol), text.source,
               byWords ? fmt::format("{} pages, ", grouped(run.pages.size())) : "",
               grouped(static_cast<std::uint64_t>(run.tokens)), grouped(run.windows.size()),
               run.windows.size() == 1 ? "window" : "windows", run.rules.window, name(run.rules.bos.value()),
               evaluation.dtype);
}

const char* lossUnit(const TextEvaluation& text) {
    return text.perplexity.rules.protocol == TextProtocol::wordPpl ? "nats/word" : "nats/token";
}

void printText(const TextEvaluation& text, const Evaluation& evaluation) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    printHeading(text, evaluation);
    std::vector<std::vector<std::string>> rows{{"", "perplexity", lossUnit(text)}};
    if (text.reference)
        rows.push_back(row(text.reference->mask, text.reference->perplexity));
    rows.push_back(row(evaluation.mask, run));
    if (text.reference)
        rows.push_back(
            {"difference", "", withError(text.reference->difference.nats, text.reference->difference.standardError)});
    fmt::print("{}", table(std::move(rows), {Align::left, Align::right, Align::point}));
    if (byWords)
        fmt::print("{} words, {} bytes: {} per byte, {} bits per byte\n",
                   grouped(static_cast<std::uint64_t>(run.words())), grouped(static_cast<std::uint64_t>(run.bytes())),
                   significant(run.bytePerplexity(), 6), significant(run.bitsPerByte(), 6));
}

void printRuns(const std::vector<Evaluation>& runs) {
    const TextEvaluation& first = runs.front().text.value();
    printHeading(first, runs.front());
    std::vector<std::vector<std::string>> rows{{"", "perplexity", lossUnit(first), "difference"}};
    rows.push_back(row({}, first.reference->perplexity));
    for (const Evaluation& run : runs) {
        rows.push_back(row(run.mask, run.text->perplexity));
        const LossDifference& difference = run.text->reference->difference;
        rows.back().push_back(withError(difference.nats, difference.standardError));
    }
    rows[1].emplace_back();
    fmt::print("{}", table(std::move(rows), {Align::left, Align::right, Align::point, Align::point}));
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
    ScoredText text = readText(ready, arguments.text, whole.part(0, 0));
    const std::string digest = dataDigest(text.windows);
    const Progress progress = withTimeLeft(whole, console);
    TextEvaluator evaluator(model, std::move(text),
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
        run.text = TextEvaluation{arguments.text.path, digest, std::move(found.run),
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
    const double share = tasks.empty() ? 1 : 0.5;
    if (!text.path.empty())
        evaluation.text = evaluateText(ready, text, run, reference, console, progress.part(0, share));
    nameClasses(tasks, *ready.model);
    if (!tasks.empty())
        evaluation.tasks = evaluateTasks(ready, tasks, run, reference,
                                         withTimeLeft(progress.part(text.path.empty() ? 0 : share, 1), console));
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
    for (const std::string& warning : evaluation.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

void evaluateVerb(Arguments& arguments, const Console& console) {
    if (arguments.text.path.empty() && arguments.tasks.paths.empty())
        throw UsageError("there is nothing to evaluate on; name a text, or a task by --task", "--text");
    if (arguments.masks.size() > 1 && !arguments.tasks.paths.empty())
        throw UsageError("several masks are evaluated on a text only; ask a task once for each mask", "--task");
    if (arguments.masks.size() > 1)
        return evaluateSeveral(arguments, console);
    if (!arguments.masks.empty())
        arguments.run.mask = arguments.masks.front();
    evaluateOne(arguments, console);
}

void addTextOptions(CLI::App& verb, TextOptions& options) {
    PerplexityRules& rules = options.rules;
    CLI::Option* file =
        verb.add_option("--text", options.path, "Text, .jsonl, or folder of texts to measure the perplexity of")
            ->option_text("FILE|DIR");
    verb.add_option("--field", options.field, "Of the rows of a .jsonl")->option_text("NAME")->needs(file);
    verb.add_option_function<std::string>(
            "--protocol", [&rules](const std::string& text) { rules.protocol = textProtocolOf(text); },
            "token_ppl: per token, in windows of their own, as most papers; word_ppl: per word of each page, rolling, "
            "as lm-eval's wikitext. Never compare the two. [token_ppl]")
        ->option_text("ID")
        ->needs(file);
    verb.add_option("--window", rules.window,
                    "Tokens that the model sees at once; without it its context, in token_ppl at most 2048")
        ->check(CLI::Range(2, 1 << 24))
        ->needs(file);
    verb.add_option_function<std::string>(
            "--bos", [&rules](const std::string& text) { rules.bos = bosModeOf(text); },
            "Where BOS stands: tokenizer_default, always, first_only; token_ppl also every_window (of Gemma the "
            "default) and never; word_ppl also lm_eval_new; tasks the first two and never [tokenizer_default]")
        ->option_text("MODE");
    verb.add_option("--max-tokens", rules.mostTokens,
                    "Leave out the text behind so many tokens, in word_ppl the pages that do not fit; without it all")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40))
        ->needs(file);
    verb.add_option("--batch-tokens", options.batchTokens, "Most tokens to run at once, but at least one window")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
}

} // namespace

void addEvaluate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* verb = program.add_subcommand("evaluate", "Measure how well a model does, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    addTextOptions(*verb, arguments->text);
    verb->add_option("--mask", arguments->masks,
                     "Mask .json of what to leave out; several, each with its own --mask, are compared with the dense "
                     "model, which runs once")
        ->option_text("FILE")
        ->allow_extra_args(false);
    addTaskOptions(*verb, arguments->tasks);
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
