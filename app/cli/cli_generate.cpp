#include "analysis/evaluation/evaluation.h"
#include "app/cli/cli_common.h"
#include "app/cli/run_forecast.h"
#include "backends/json/result_json.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <string_view>

namespace secateur::cli {

namespace {

struct GenerateArguments {
    std::string path;
    PromptRequest prompt;
    RunOptions run;
};

/// By default no live progress is shown, because the text itself is printed while it is generated.
Progress progressOf(const Console& console) {
    Console own = console;
    if (!console.json && console.progressMode == "auto")
        own.progressMode = "none";
    return own.progress();
}

void forecast(const ReadyModel& ready, const PromptRequest& prompt, const Tokenizer& tokenizer,
              const Console& console) {
    const auto length = std::ssize(encodedPrompt(prompt, tokenizer));
    RunForecast expected(*ready.model, {ready.plan}, console, console.progress().part(0, 0));
    expected.add({1, {length, static_cast<int>(length), 1}, prompt.newTokens, prompt.newTokens}, {});
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

void generateVerb(const GenerateArguments& arguments, const Console& console) {
    checkSampling(arguments.prompt.sampling);
    const Progress progress = progressOf(console);
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const auto tokenizer = openTokenizer(ready.model->card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());

    forecast(ready, arguments.prompt, *tokenizer, console);
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
    if (continuation.end == TextEnd::contextFull)
        printNote("the text ends because the model's context of {} tokens is full", ready.model->spec().context);
}

} // namespace

void addGenerate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<GenerateArguments>();
    PromptRequest& prompt = arguments->prompt;
    CLI::App* verb = program.add_subcommand("generate", "Continue a prompt, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--prompt", prompt.text, "Text to continue")->option_text("TEXT")->required()->check(isUtf8());
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
