#include "analysis/error.h"
#include "analysis/evaluation.h"
#include "analysis/kernels.h"
#include "analysis/runner.h"
#include "analysis/text.h"
#include "analysis/usage_error.h"
#include "app/cli_common.h"
#include "app/evaluate_task.h"
#include "backends/data_digest.h"
#include "backends/mask_digest.h"
#include "backends/mask_json.h"
#include "backends/open_tokenizer.h"
#include "backends/result_json.h"
#include "backends/text_source.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

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
        MaskReading reading = readMask(arguments.against, model.spec(), model.fingerprint());
        for (const std::string& warning : reading.warnings)
            ready.warnings.push_back(arguments.against + ": " + warning);
        mask = std::move(reading.record.mask);
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

TextEvaluation evaluateText(ReadyModel& ready, const TextOptions& options, const Contender& run,
                            const std::optional<Contender>& reference, const Console& console, const Progress& whole) {
    const Model& model = *ready.model;
    const PerplexityRules rules = rulesOf(options, model);
    const int context = model.spec().context;
    if (context > 0 && rules.window > context)
        ready.warnings.push_back(
            fmt::format("a window of {} tokens is longer than the model's context of {}", rules.window, context));
    const auto tokenizer = openTokenizer(model.card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());
    const ScoredText text = textOf(options, rules, *tokenizer, whole.part(0, 0));
    spdlog::info("{} windows, {} tokens with those of context", text.windows.sequences.size(), text.windows.tokens);

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

void printText(const TextEvaluation& text, const Evaluation& evaluation) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    fmt::print("{} of {}: {}{} tokens in {} windows of {}, BOS {}, {}\n", name(run.rules.protocol), text.source,
               byWords ? fmt::format("{} pages, ", grouped(run.pages.size())) : "",
               grouped(static_cast<std::uint64_t>(run.tokens)), grouped(run.windows.size()), run.rules.window,
               name(run.rules.bos.value()), evaluation.dtype);
    std::vector<std::vector<std::string>> rows{{"", "perplexity", byWords ? "nats/word" : "nats/token"}};
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

void evaluateVerb(const Arguments& arguments, const Console& console) {
    const TextOptions& text = arguments.text;
    if (text.path.empty() && arguments.tasks.paths.empty())
        throw UsageError("there is nothing to evaluate on; name a text, or a task by --task", "--text");
    const auto begin = std::chrono::steady_clock::now();
    const Progress progress = console.progress();
    std::vector<AskedTask> tasks = readTasks(arguments.tasks, text.rules.bos, text.batchTokens, progress.part(0, 0));
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const Contender run{{ready.mask ? fileName(arguments.run.mask) : "", maskDigest(ready.plan->mask())}, ready.plan};
    const std::optional<Contender> reference = referenceOf(arguments, ready);

    Evaluation evaluation{run.mask, std::string(name(ready.plan->type())), ready.model->kernels().device(), {}, 0, {}};
    const double share = tasks.empty() ? 1 : 0.5;
    if (!text.path.empty())
        evaluation.text = evaluateText(ready, text, run, reference, console, progress.part(0, share));
    nameClasses(tasks, *ready.model);
    if (!tasks.empty())
        evaluation.tasks = evaluateTasks(ready, tasks, run, reference,
                                         withTimeLeft(progress.part(text.path.empty() ? 0 : share, 1), console));
    evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
