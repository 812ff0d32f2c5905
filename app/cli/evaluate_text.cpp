#include "app/cli/evaluate_text.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/model/kernels.h"
#include "app/cli/evaluate_kept.h"
#include "app/cli/ranks.h"
#include "app/reference/offered_values.h"
#include "backends/base/runtime.h"
#include "backends/engine/plan_memory.h"
#include "backends/text/sequence_text.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace secateur::cli {

namespace {

std::array<std::string, 3> row(const std::string& title, const Perplexity& run) {
    return {title, significant(run.perplexity(), 6), withError(run.lossNats, run.standardError)};
}

void printHeading(const TextEvaluation& text, const Evaluation& evaluation) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    print("{} of {}: {}{} tokens in {} {} of {}, BOS {}, {}\n", name(run.rules.protocol), shownSource(text.source),
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

BosRule bosRuleFor(std::optional<BosMode> mode, std::string_view user) {
    switch (mode.value_or(BosMode::tokenizerDefault)) {
    case BosMode::tokenizerDefault:
        return BosRule::tokenizerDefault;
    case BosMode::always:
        return BosRule::always;
    case BosMode::never:
        return BosRule::never;
    case BosMode::firstOnly:
        return BosRule::firstOnly;
    default:
        throw UsageError(fmt::format("{} do not support the BOS mode {}; must be one of tokenizer_default, always, "
                                     "never, first_only",
                                     user, name(*mode)),
                         "--bos");
    }
}

EvaluationText readText(ReadyModel& ready, const TextOptions& options, const Progress& progress) {
    if (options.sequenceLength > 0)
        throw UsageError("is for encoders; use --window for the windows of a perplexity", "--seq-len");
    EvaluationText text = readEvaluationText(*ready.model, options, progress);
    ready.warnings.insert(ready.warnings.end(), text.warnings.begin(), text.warnings.end());
    return text;
}

TextEvaluation evaluateText(const EvaluationText& text, std::int64_t batchTokens, const PlannedMask& run,
                            const std::optional<PlannedMask>& reference, const Progress& progress) {
    const auto score = [&](const PlannedMask& planned, const Progress& part) {
        return perplexity(*planned.model, *planned.plan, text.scored, batchTokens, part, cluster());
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
    Rows<3> rows;
    if (text.reference)
        rows.push_back(row(shownMask(text.reference->mask), text.reference->perplexity));
    rows.push_back(row(shownName(evaluation.mask, evaluation.adapter), run));
    if (text.reference)
        rows.push_back(
            {"difference", "", withError(text.reference->difference.nats, text.reference->difference.standardError)});
    print(Table({{}, {"perplexity", Align::right}, {lossUnit(text), Align::point}}, rows));
    if (evaluation.predicted)
        print("predicted change of the loss: {}\n", sentence(*evaluation.predicted));
    if (byWords)
        print("{} words, {} bytes: {} per byte, {} bits per byte\n", grouped(static_cast<std::uint64_t>(run.words())),
              grouped(static_cast<std::uint64_t>(run.bytes())), significant(run.bytePerplexity(), 6),
              significant(run.bitsPerByte(), 6));
}

void printRuns(const std::vector<Evaluation>& runs) {
    const TextEvaluation& first = runs.front().text.value();
    printHeading(first, runs.front());
    Rows<3> rows{row("dense", first.reference->perplexity)};
    for (const Evaluation& run : runs)
        rows.push_back(row(shownName(run.mask, run.adapter), run.text->perplexity));
    Table table({{}, {"perplexity", Align::right}, {lossUnit(first), Align::point}}, rows);
    table.add({"difference", Align::point}, [&](std::size_t at) { // the first row is the dense model
        const LossDifference difference = at > 0 ? runs[at - 1].text->reference->difference : LossDifference();
        return at > 0 ? withError(difference.nats, difference.standardError) : "";
    });
    if (std::ranges::any_of(runs, [](const Evaluation& run) { return run.predicted.has_value(); }))
        table.add({"predicted"}, [&](std::size_t at) {
            return at > 0 && runs[at - 1].predicted ? sentence(*runs[at - 1].predicted) : "";
        });
    print(table);
}

void addTextOptions(CLI::App& verb, TextOptions& options) {
    PerplexityRules& rules = options.rules;
    CLI::Option* file =
        verb.add_option("--text", options.path,
                        "Text, .jsonl file or folder of texts to score; for encoders without a head, texts "
                        "for the distance of pooled outputs [the built-in text, unless there is a "
                        "--task or --latency]")
            ->option_text("FILE|DIR");
    verb.add_option("--field", options.field, "Field of the .jsonl rows that holds the text")
        ->option_text("NAME")
        ->needs(file);
    verb.add_option_function<std::string>(
            "--protocol", [&rules](const std::string& text) { rules.protocol = textProtocolOf(text); },
            "token_ppl: loss per token in independent windows, as in most pruning papers; word_ppl: loss per word in "
            "rolling windows, as lm-eval's wikitext; not comparable with each other [token_ppl]")
        ->option_text("ID")
        ->check(offers({"token_ppl", "word_ppl"}));
    verb.add_option("--window", rules.window, "Window length in tokens [the model's context; token_ppl: at most 2048]")
        ->check(CLI::Range(2, 1 << 24));
    verb.add_option("--seq-len", options.sequenceLength, "Encoders: maximum sequence length in tokens [128]")
        ->check(CLI::Range(std::int64_t{3}, std::int64_t{1} << 24));
    verb.add_option_function<std::string>(
            "--bos", [&rules](const std::string& text) { rules.bos = bosModeOf(text); },
            "BOS mode: tokenizer_default, always or first_only; token_ppl also every_window and never; word_ppl also "
            "lm_eval_new; tasks also never [tokenizer_default; token_ppl on Gemma: every_window]")
        ->option_text("MODE")
        ->check(offers({"tokenizer_default", "always", "first_only", "every_window", "never", "lm_eval_new"}));
    verb.add_option("--max-tokens", rules.mostTokens,
                    "Maximum number of tokens of the text; word_ppl: of whole pages, at least one [all]")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
    verb.add_option("--batch-tokens", options.batchTokens,
                    "Maximum number of tokens in a batch, but at least one window")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
}

namespace {

std::int64_t lengthOf(const TextOptions& options, const ModelSpec& spec) {
    constexpr std::int64_t usual = 128;
    if (options.sequenceLength > 0)
        return options.sequenceLength;
    return spec.context > 0 ? std::min<std::int64_t>(usual, spec.context) : usual;
}

} // namespace

SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress) {
    if (options.rules.window > 0)
        throw UsageError("is for perplexity; use --seq-len for an encoder's sequences", "--window");
    if (options.rules.protocol != TextProtocol::tokenPpl)
        throw UsageError("is for perplexity, which an encoder does not have", "--protocol");
    SequenceRules rules;
    rules.bos = bosRuleFor(options.rules.bos, "encoders");
    rules.length = lengthOf(options, ready.model->spec());
    rules.mostTokens = options.rules.mostTokens;
    const auto tokenizer = openTokenizer(ready.model->card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());
    const std::vector<std::string> documents = readDocuments(options.path, options.field, rules.split);
    SequenceSet set = makeSequences({documents.begin(), documents.end()}, *tokenizer, rules, progress);
    if (set.sequences.empty())
        throw Error("contains no text to compare pooled outputs on", sourceName(options.path));
    return set;
}

PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const PlannedMask& run, const PlannedMask& reference, const Progress& progress) {
    return {
        sourceName(options.path), dataDigest(set), lengthOf(options, ready.model->spec()), reference.mask,
        pooledDistance(*ready.model, *run.plan, *reference.plan, set, options.batchTokens, progress, reference.model)};
}

void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation) {
    const PooledDistance& distance = pooled.distance;
    print("{} on {}: {} tokens in {} {} of at most {}, {}\n",
          distance.hasPooler ? "Pooled output" : "Final state of the first token (no pooler)",
          shownSource(pooled.source), grouped(static_cast<std::uint64_t>(distance.tokens)), grouped(distance.sequences),
          distance.sequences == 1 ? "sequence" : "sequences", pooled.sequenceLength, evaluation.dtype);
    const auto shown = [](const MeanDistance& mean) { return withError(mean.value, mean.standardError); };
    print(Table(
        {{}, {"relative distance", Align::point}, {"cosine distance", Align::point}},
        Rows<3>{{fmt::format("{} to {}", shownName(evaluation.mask, evaluation.adapter), shownMask(pooled.reference)),
                 shown(distance.relative), shown(distance.cosine)}}));
}

namespace {

/// Random tokens, as many as the prompt and the longest given length need; without special tokens if there is a
/// tokenizer.
std::vector<int> drawnTokens(const Model& model, const LatencyOptions& options) {
    int most = options.generation.promptTokens;
    for (const int tokens : options.prefill.lengths)
        most = std::max(most, tokens);
    if (model.card().tokenizer.empty())
        return ordinaryTokens(model.spec(), most);
    return ordinaryTokens(model.spec(), most, openTokenizer(model.card()).get());
}

std::string spreadOf(const Speedup& speedup) {
    return fmt::format("{:.3f} to {:.3f}", speedup.p10, speedup.p90);
}

void printGeneration(const Latency& latency, const Evaluation& evaluation) {
    const LatencyRules& rules = latency.rules;
    print("generate {} tokens after a {}-token prompt, {} runs after {} of warm-up, batch 1, {}\n", rules.newTokens,
          rules.promptTokens, latency.run.seconds.size(), rules.warmup, evaluation.dtype);
    Rows<6> rows;
    const auto add = [&](const EvaluatedMask& mask, const Timing& timing) {
        rows.push_back({shownMask(mask), significant(timing.median(), 4), significant(timing.mean(), 4),
                        significant(timing.percentile(10), 4), significant(timing.percentile(90), 4),
                        significant(latency.tokensPerSecond(timing), 4)});
    };
    if (latency.reference)
        add(evaluation.timedAgainst, *latency.reference);
    add(evaluation.mask, latency.run);
    print(Table({{"seconds"},
                 {"median", Align::point},
                 {"mean", Align::point},
                 {"p10", Align::point},
                 {"p90", Align::point},
                 {"tokens/s", Align::point}},
                rows));
    if (latency.speedup)
        print("speed-up {:.3f} (p10 to p90 of neighbouring runs: {})\n", latency.speedup->ratio,
              spreadOf(*latency.speedup));
}

void printPasses(const Evaluation& evaluation) {
    const std::vector<Prefill>& prefills = evaluation.prefills;
    print("seconds of a forward pass, median of at least {} runs, {}\n",
          std::ranges::min(prefills, {}, [](const Prefill& p) { return p.run.timing.seconds.size(); })
              .run.timing.seconds.size(),
          evaluation.dtype);
    const bool isCompared = prefills.front().reference.has_value();
    Table table(prefills.size());
    const auto add = [&](const std::string& title, Align align, const auto& cellOf) {
        table.add({title, align}, [&](std::size_t row) { return cellOf(prefills[row]); });
    };
    add("tokens", Align::right, [](const Prefill& prefill) { return std::to_string(prefill.tokens); });
    if (isCompared)
        add(shownMask(evaluation.timedAgainst), Align::point,
            [](const Prefill& prefill) { return significant(prefill.reference->timing.median(), 4); });
    add(shownMask(evaluation.mask), Align::point,
        [](const Prefill& prefill) { return significant(prefill.run.timing.median(), 4); });
    if (isCompared) {
        add("speed-up", Align::point,
            [](const Prefill& prefill) { return fmt::format("{:.3f}", prefill.speedup->ratio); });
        add("p10 to p90", Align::left, [](const Prefill& prefill) { return spreadOf(*prefill.speedup); });
    }
    print(table);
}

void printSublayers(const Evaluation& evaluation) {
    Rows<6> rows;
    const auto add = [&](int tokens, const EvaluatedMask& mask, const SublayerSeconds& seconds) {
        rows.push_back({std::to_string(tokens), shownMask(mask), significant(seconds.attentionTotal(), 4),
                        significant(seconds.mlpTotal(), 4), significant(seconds.rest, 3),
                        fmt::format("{:.1f} %", 100 * seconds.attentionTotal() / seconds.total())});
    };
    for (const Prefill& prefill : evaluation.prefills) {
        if (prefill.reference && prefill.reference->bySublayer)
            add(prefill.tokens, evaluation.timedAgainst, *prefill.reference->bySublayer);
        if (prefill.run.bySublayer)
            add(prefill.tokens, evaluation.mask, *prefill.run.bySublayer);
    }
    if (!rows.empty())
        print(Table({{"tokens", Align::right},
                     {"mean seconds"},
                     {"attention", Align::point},
                     {"MLP", Align::point},
                     {"rest", Align::point},
                     {"attention", Align::point}},
                    rows));
}

} // namespace

void addLatencyOptions(CLI::App& verb, LatencyOptions& options) {
    LatencyRules& generation = options.generation;
    CLI::Option* latency =
        verb.add_flag("--latency", options.isWanted,
                      "Time generation (batch 1, KV cache, EOS ignored) and forward passes by length; with a mask, "
                      "alternating with the reference");
    const auto wanted = [&options, latency](CLI::Option* option) {
        option->each([&options](const std::string&) { options.wantsGeneration = true; })->needs(latency);
    };
    wanted(verb.add_option("--prompt-tokens", generation.promptTokens, "Prompt length in tokens")
               ->check(CLI::Range(1, 1 << 24))
               ->capture_default_str());
    wanted(verb.add_option("--new-tokens", generation.newTokens,
                           "Number of generated tokens; 0 = time forward passes only")
               ->check(CLI::Range(0, 1 << 24))
               ->capture_default_str());
    verb.add_option(
            "--warmup", generation.warmup,
            "Uncounted runs of the generation; with 0, the first counted run includes the conversion of weights")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--runs", generation.runs, "Counted runs of the generation")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--lengths", options.prefill.lengths,
                    "Lengths of the timed forward passes in tokens [128,512,2048, up to the model's context]")
        ->option_text("N,...")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 24))
        ->needs(latency);
    verb.add_option_function<std::string>(
            "--by", [&options](const std::string&) { options.prefill.bySublayer = true; },
            "sublayer: divide the seconds of a forward pass between attention, MLP and the rest; --json lists each "
            "layer")
        ->option_text("sublayer")
        ->check(CLI::IsMember({"sublayer"}))
        ->needs(latency);
}

void timeModel(Evaluation& evaluation, ReadyModel& ready, LatencyOptions options, const std::vector<int>& text,
               const PlannedMask& run, const std::optional<PlannedMask>& reference, const Progress& progress) {
    const Model& model = *ready.model;
    const bool takeTurns = !reference || stayTogether(*reference->plan, *run.plan);
    if (!takeTurns)
        ready.warnings.push_back(
            "the weights of mask and reference do not fit in memory together: all runs of one came "
            "before those of the other");
    const TimedPlans plans{*run.plan, reference ? reference->plan.get() : nullptr, takeTurns};
    if (options.prefill.lengths.empty())
        options.prefill.lengths = defaultLengths(model.spec());
    if (evaluation.device == "cpu")
        options.prefill.memory = availableMemory();
    checkLengths(model, options.prefill);
    options.generation.text = options.prefill.text = text.empty() ? drawnTokens(model, options) : text;
    const bool generates = options.generates(model.spec());
    if (generates)
        evaluation.latency = generationLatency(model, plans, options.generation, progress.part(0, 0.5));
    evaluation.prefills = prefillTimes(model, plans, options.prefill, progress.part(generates ? 0.5 : 0, 1));
    if (reference)
        evaluation.timedAgainst = reference->mask;
}

void printLatency(const Evaluation& evaluation) {
    if (evaluation.latency)
        printGeneration(*evaluation.latency, evaluation);
    if (evaluation.prefills.empty())
        return;
    printPasses(evaluation);
    printSublayers(evaluation);
}

} // namespace secateur::cli
