#include "app/cli/evaluate_text.h"

#include "analysis/evaluation/perplexity.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/evaluate_prediction.h"
#include "backends/text/sequence_text.h"
#include "backends/text/text_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur::cli {

namespace {

std::vector<std::string> row(const EvaluatedMask& mask, const Perplexity& run) {
    return {shownMask(mask), significant(run.perplexity(), 6), withError(run.lossNats, run.standardError)};
}

void printHeading(const TextEvaluation& text, const Evaluation& evaluation) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    fmt::print("{} of {}: {}{} tokens in {} {} of {}, BOS {}, {}\n", name(run.rules.protocol), shownSource(text.source),
               byWords ? fmt::format("{} pages, ", grouped(run.pages.size())) : "",
               grouped(static_cast<std::uint64_t>(run.tokens)), grouped(run.windows.size()),
               run.windows.size() == 1 ? "window" : "windows", run.rules.window, name(run.rules.bos.value()),
               evaluation.dtype);
}

const char* lossUnit(const TextEvaluation& text) {
    return text.perplexity.rules.protocol == TextProtocol::wordPpl ? "nats/word" : "nats/token";
}

} // namespace

std::string shownSource(const std::string& source) {
    return source == sourceName({}) ? "the built-in text" : source;
}

std::string shownMask(const EvaluatedMask& mask) {
    return mask.name.empty() ? "dense" : mask.name;
}

EvaluationText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress) {
    if (options.sequenceLength > 0)
        throw UsageError("is for encoders; the windows of a perplexity have the length of --window", "--seq-len");
    EvaluationText text = readEvaluationText(*ready.model, options, progress);
    ready.warnings.insert(ready.warnings.end(), text.warnings.begin(), text.warnings.end());
    return text;
}

TextEvaluation evaluateText(const ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens,
                            const Contender& run, const std::optional<Contender>& reference, const Progress& progress) {
    const auto score = [&](const Contender& contender, const Progress& part) {
        return perplexity(*ready.model, *contender.plan, text.scored, batchTokens, part);
    };
    std::optional<ReferenceText> compared;
    if (reference)
        compared = {reference->mask, score(*reference, progress.part(0, 0.5)), {}};
    TextEvaluation result{text.source, text.digest, score(run, progress.part(reference ? 0.5 : 0, 1)), {}};
    if (compared)
        compared->difference = pairedDifference(result.perplexity, compared->perplexity);
    result.reference = std::move(compared);
    result.windows = text.scored.windows.sequences.size();
    return result;
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
    if (evaluation.predicted)
        fmt::print("predicted difference to the dense model: {} nats/token\n", sentence(*evaluation.predicted));
    if (byWords)
        fmt::print("{} words, {} bytes: {} per byte, {} bits per byte\n",
                   grouped(static_cast<std::uint64_t>(run.words())), grouped(static_cast<std::uint64_t>(run.bytes())),
                   significant(run.bytePerplexity(), 6), significant(run.bitsPerByte(), 6));
}

void printRuns(const std::vector<Evaluation>& runs) {
    const TextEvaluation& first = runs.front().text.value();
    printHeading(first, runs.front());
    std::vector<std::vector<std::string>> rows{{"", "perplexity", lossUnit(first), "difference"}};
    const bool anyPredicted =
        std::ranges::any_of(runs, [](const Evaluation& run) { return run.predicted.has_value(); });
    if (anyPredicted)
        rows.front().emplace_back("predicted");
    rows.push_back(row({}, first.reference->perplexity));
    for (const Evaluation& run : runs) {
        rows.push_back(row(run.mask, run.text->perplexity));
        const LossDifference& difference = run.text->reference->difference;
        rows.back().push_back(withError(difference.nats, difference.standardError));
        if (anyPredicted)
            rows.back().push_back(run.predicted ? sentence(*run.predicted) : "");
    }
    for (std::vector<std::string>& own : rows)
        own.resize(rows.front().size());
    fmt::print("{}", table(std::move(rows), {Align::left, Align::right, Align::point, Align::point, Align::left}));
}

void addTextOptions(CLI::App& verb, TextOptions& options) {
    PerplexityRules& rules = options.rules;
    CLI::Option* file = verb.add_option("--text", options.path,
                                        "Text, .jsonl, or folder of texts to measure the perplexity of, of encoders "
                                        "without a head how far a mask moves "
                                        "their pooled output [the built-in text, unless a task is asked]")
                            ->option_text("FILE|DIR");
    verb.add_option("--field", options.field, "Of the rows of a .jsonl")->option_text("NAME")->needs(file);
    verb.add_option_function<std::string>(
            "--protocol", [&rules](const std::string& text) { rules.protocol = textProtocolOf(text); },
            "token_ppl: per token, in windows of their own, as most papers; word_ppl: per word of each page, rolling, "
            "as lm-eval's wikitext. Never compare the two. [token_ppl]")
        ->option_text("ID");
    verb.add_option("--window", rules.window,
                    "Tokens that the model sees at once; without it its context, in token_ppl at most 2048")
        ->check(CLI::Range(2, 1 << 24));
    verb.add_option("--seq-len", options.sequenceLength, "Of encoders: tokens of a sequence at most [128]")
        ->check(CLI::Range(std::int64_t{3}, std::int64_t{1} << 24));
    verb.add_option_function<std::string>(
            "--bos", [&rules](const std::string& text) { rules.bos = bosModeOf(text); },
            "Where BOS stands: tokenizer_default, always, first_only; token_ppl also every_window (of Gemma the "
            "default) and never; word_ppl also lm_eval_new; tasks the first two and never [tokenizer_default]")
        ->option_text("MODE");
    verb.add_option("--max-tokens", rules.mostTokens,
                    "Leave out the text behind so many tokens, in word_ppl the pages that do not fit; without it all")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
    verb.add_option("--batch-tokens", options.batchTokens, "Most tokens to run at once, but at least one window")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
}

} // namespace secateur::cli
