#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/evaluation.h"
#include "app/cli/cli_common.h"
#include "app/cli/run_forecast.h"
#include "backends/json/result_json.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur::cli {

namespace {

struct GenerateArguments {
    std::string path;
    PromptRequest prompt;
    bool hasPrompt = false;
    std::string promptsFile; ///< empty = a single prompt
    RunOptions run;
};

/// By default no live progress is shown, because the text itself is printed while it is generated.
Progress progressOf(const Console& console) {
    Console own = console;
    if (!console.json && console.progressMode == "auto")
        own.progressMode = "none";
    return own.progress();
}

/// @param prompts with equal settings
void forecast(const ReadyModel& ready, std::span<const PromptRequest> prompts, const Tokenizer& tokenizer,
              const Console& console) {
    RunForecast expected(*ready.model, {ready.plan}, console, console.progress().part(0, 0));
    for (const PromptRequest& prompt : prompts) {
        const auto length = std::ssize(encodedPrompt(prompt, tokenizer));
        expected.add({1, {length, static_cast<int>(length), 1}, prompt.newTokens, prompt.newTokens}, {});
    }
    expected.say();
}

/// Prints generated text. A terminal would carry out its control characters.
void printNow(std::string_view text) {
    if (isOnTerminal())
        printText(text);
    else
        printBytes(text);
    if (!flushOutput())
        throw OutputFailure();
}

void noteIfFull(const Continuation& continuation, const ModelSpec& spec) {
    if (continuation.end == TextEnd::contextFull)
        printNote("the text ends because the model's context of {} tokens is full", spec.context);
}

/// Prints each prompt with its continuation, when all texts are written.
void continueFile(const GenerateArguments& arguments, ReadyModel& ready, const Tokenizer& tokenizer,
                  const Progress& progress, const Console& console) {
    const std::vector<std::string> texts = readDocuments(arguments.promptsFile, {}, TextSplit::line);
    if (texts.empty())
        throw Error("has no prompts", arguments.promptsFile, "Write one prompt a line");
    std::vector<PromptRequest> prompts(texts.size(), arguments.prompt);
    for (std::size_t i = 0; i < texts.size(); ++i)
        prompts[i].text = texts[i];
    forecast(ready, prompts, tokenizer, console);
    const auto begin = std::chrono::steady_clock::now();
    const auto written = continuePrompts(*ready.model, *ready.plan, tokenizer, texts, arguments.prompt, progress);
    addOverwrittenFiles(*ready.model, ready.warnings);
    if (console.json) {
        printJson(generationsJson(written, secondsSince(begin), ready.warnings));
        return;
    }
    for (const PromptContinuation& one : written) {
        printNow(one.prompt.text + one.text + "\n\n");
        noteIfFull(one.continuation, ready.model->spec());
    }
    printNotes(ready.warnings);
}

void generateVerb(const GenerateArguments& arguments, const Console& console) {
    if (arguments.hasPrompt == !arguments.promptsFile.empty())
        throw UsageError(arguments.hasPrompt ? "cannot be used beside --prompts"
                                             : "is required, unless there is --prompts",
                         "--prompt");
    checkSampling(arguments.prompt.sampling);
    const Progress progress = progressOf(console);
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const auto tokenizer = openTokenizer(ready.model->card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());

    if (!arguments.hasPrompt)
        return continueFile(arguments, ready, *tokenizer, progress, console);
    forecast(ready, std::span(&arguments.prompt, 1), *tokenizer, console);
    const auto begin = std::chrono::steady_clock::now();
    const PromptContinuation written = continuePrompt(*ready.model, *ready.plan, *tokenizer, arguments.prompt, progress,
                                                      console.json ? TextSink() : printNow);
    addOverwrittenFiles(*ready.model, ready.warnings);
    const Continuation& continuation = written.continuation;
    const double seconds = secondsSince(begin);
    spdlog::info("{} tokens in {:.2f} s", continuation.tokens.size(), seconds);
    if (console.json) {
        printJson(generationJson(written, seconds, ready.warnings));
        return;
    }
    print("\n");
    printNotes(ready.warnings);
    noteIfFull(continuation, ready.model->spec());
}

} // namespace

void addGenerate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<GenerateArguments>();
    PromptRequest& prompt = arguments->prompt;
    CLI::App* verb = program.add_subcommand("generate", "Continue a prompt, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option_function<std::string>(
            "--prompt",
            [arguments](const std::string& text) {
                arguments->prompt.text = text;
                arguments->hasPrompt = true;
            },
            "Text to continue")
        ->option_text("TEXT")
        ->check(isUtf8());
    verb->add_option("--prompts", arguments->promptsFile,
                     "File with a text to continue in each line, or the rows of a .jsonl; eight are continued at once")
        ->option_text("FILE");
    verb->add_option("--new-tokens", prompt.newTokens, "Maximum number of generated tokens")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    verb->add_option("--temperature", prompt.sampling.temperature,
                     "Sampling temperature; 0 = the likeliest token each time, 1 = the model's probabilities")
        ->capture_default_str();
    verb->add_option("--top-p", prompt.sampling.topP,
                     "Sample from the fewest likeliest tokens whose probabilities sum to at least this")
        ->capture_default_str();
    verb->add_option("--seed", prompt.sampling.seed, "Seed of the sampling")
        ->check(CLI::Validator(
            [](const std::string& text) {
                return text.find_first_not_of("0123456789") == std::string::npos ? "" : "is not a whole number from 0";
            },
            "", "seed"))
        ->capture_default_str();
    verb->add_flag_callback(
        "--parse-special", [&prompt] { prompt.special = SpecialText::parsed; },
        "Parse special tokens (\"<s>\") in TEXT");
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    addCommonOptions(*verb, console);
    verb->footer(
        "Example: secateur-cli generate SmolLM2-135M-Instruct.Q4_1.gguf --prompt \"The capital of France is\"");
    verb->callback([arguments, &console] { generateVerb(*arguments, console); });
}

} // namespace secateur::cli
