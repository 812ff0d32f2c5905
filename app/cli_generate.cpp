#include "analysis/error.h"
#include "analysis/generate.h"
#include "analysis/text_stream.h"
#include "app/cli_common.h"
#include "app/run_forecast.h"
#include "backends/open_tokenizer.h"
#include "backends/result_json.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>

namespace secateur::cli {

namespace {

struct Arguments {
    std::string path;
    std::string prompt;
    bool parseSpecial = false;
    GenerationRules rules;
    RunOptions run;
};

std::vector<int> promptTokens(const Arguments& arguments, const Tokenizer& tokenizer) {
    std::vector<int> ids =
        tokenizer
            .encode(arguments.prompt, {.special = arguments.parseSpecial ? SpecialText::parsed : SpecialText::plain})
            .ids;
    if (ids.empty())
        throw Error("The prompt is empty, and the tokenizer puts nothing in front of it", {},
                    "Give the model a word to begin with");
    return ids;
}

/// What the new tokens add to the text of the prompt: alone, some tokenizers would leave a leading blank out.
class NewText {
public:
    NewText(const Tokenizer& tokenizer, const std::vector<int>& prompt, bool prints)
        : m_stream(tokenizer)
        , m_prints(prints) {
        for (const int id : prompt)
            m_stream.add(id);
    }

    void add(int id) { append(m_stream.add(id)); }
    std::string finish() {
        append(m_stream.finish());
        return m_text;
    }

private:
    void append(const std::string& piece) {
        m_text += piece;
        if (m_prints && !piece.empty()) {
            fmt::print("{}", piece);
            std::fflush(stdout);
        }
    }

    TextStream m_stream;
    bool m_prints;
    std::string m_text;
};

/// The text itself shows how far it is: a live line would be drawn over it.
Progress progressOf(const Console& console) {
    Console own = console;
    if (!console.json && console.progressMode == "auto")
        own.progressMode = "none";
    return own.progress();
}

void forecast(const ReadyModel& ready, const std::vector<int>& prompt, int newTokens, const Console& console) {
    RunForecast expected(*ready.model, {ready.plan}, console, console.progress().part(0, 0));
    const RunSize size{std::ssize(prompt), static_cast<int>(prompt.size()), 1};
    expected.add({1, size, newTokens, newTokens}, {});
    expected.say();
}

void generateVerb(Arguments arguments, const Console& console) {
    checkSampling(arguments.rules.sampling);
    const Progress progress = progressOf(console);
    ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const auto tokenizer = openTokenizer(ready.model->card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());
    if (tokenizer->card().eos)
        arguments.rules.stopTokens = {*tokenizer->card().eos};
    const std::vector<int> prompt = promptTokens(arguments, *tokenizer);

    forecast(ready, prompt, arguments.rules.newTokens, console);
    const auto begin = std::chrono::steady_clock::now();
    NewText text(*tokenizer, prompt, !console.json);
    const Continuation continuation =
        generate(*ready.model, *ready.plan, std::array{prompt}, arguments.rules, progress, [&](std::size_t, int token) {
            text.add(token);
        }).front();
    const std::string whole = text.finish();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    spdlog::info("{} tokens behind {} in {:.2f} s", continuation.tokens.size(), prompt.size(), seconds);
    if (console.json) {
        fmt::print("{}\n", generationJson(arguments.prompt, whole, continuation, seconds, ready.warnings));
        return;
    }
    fmt::print("\n");
    for (const std::string& warning : ready.warnings)
        fmt::print(stderr, "note: {}\n", warning);
    if (continuation.end == TextEnd::contextFull)
        fmt::print(stderr, "note: the text ends because the model's context of {} tokens is full\n",
                   ready.model->spec().context);
}

} // namespace

void addGenerate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<Arguments>();
    GenerationRules& rules = arguments->rules;
    CLI::App* verb = program.add_subcommand("generate", "Continue a prompt, dense or under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--prompt", arguments->prompt, "What to continue")->option_text("TEXT")->required();
    verb->add_option("--new-tokens", rules.newTokens, "Most tokens to put behind it")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    verb->add_option("--temperature", rules.sampling.temperature,
                     "0 takes the likeliest token each time; 1 draws by the model's probabilities")
        ->capture_default_str();
    verb->add_option("--top-p", rules.sampling.topP,
                     "Draw among the fewest likeliest tokens whose probabilities sum to this")
        ->capture_default_str();
    verb->add_option("--seed", rules.sampling.seed, "Of the draws: the same seed gives the same text")
        ->check(CLI::Validator(
            [](const std::string& text) {
                return text.find_first_not_of("0123456789") == std::string::npos ? "" : "is no whole number from 0";
            },
            "", "seed"))
        ->capture_default_str();
    verb->add_flag("--parse-special", arguments->parseSpecial, "Special text in TEXT (\"<s>\") is the special token");
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    addCommonOptions(*verb, console);
    verb->footer(
        "Example: secateur-cli generate SmolLM2-135M-Instruct.Q4_1.gguf --prompt \"The capital of France is\"");
    verb->callback([arguments, &console] { generateVerb(*arguments, console); });
}

} // namespace secateur::cli
