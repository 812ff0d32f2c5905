#include "app/cli/evaluate_latency.h"

#include "analysis/base/text.h"
#include "analysis/model/kernels.h"
#include "backends/base/runtime.h"
#include "backends/engine/plan_memory.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace secateur::cli {

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// As many as the longest run needs, without the special ones where a tokenizer says which these are.
std::vector<int> drawnTokens(const Model& model, const LatencyOptions& options) {
    int most = options.generation.promptTokens;
    for (const int tokens : options.prefill.lengths)
        most = std::max(most, tokens);
    if (model.card().tokenizer.empty())
        return ordinaryTokens(model.spec(), most);
    return ordinaryTokens(model.spec(), most, openTokenizer(model.card()).get());
}

std::string labelOf(const EvaluatedMask& mask) {
    return mask.name.empty() ? "dense" : mask.name;
}

std::string spreadOf(const Speedup& speedup) {
    return fmt::format("{:.3f} to {:.3f}", speedup.p10, speedup.p90);
}

void printGeneration(const Latency& latency, const Evaluation& evaluation) {
    const LatencyRules& rules = latency.rules;
    fmt::print("{} tokens behind {}, batch 1, {}: {} runs after {} of warm-up\n", rules.newTokens, rules.promptTokens,
               evaluation.dtype, latency.run.seconds.size(), rules.warmup);
    Rows rows{{"seconds", "median", "mean", "p10", "p90", "tokens/s"}};
    const auto add = [&](const EvaluatedMask& mask, const Timing& timing) {
        rows.push_back({labelOf(mask), significant(timing.median(), 4), significant(timing.mean(), 4),
                        significant(timing.percentile(10), 4), significant(timing.percentile(90), 4),
                        significant(latency.tokensPerSecond(timing), 4)});
    };
    if (latency.reference)
        add(evaluation.timedAgainst, *latency.reference);
    add(evaluation.mask, latency.run);
    std::vector alignment(6, Align::point);
    alignment[0] = Align::left;
    fmt::print("{}", table(std::move(rows), alignment));
    if (latency.speedup)
        fmt::print("{:.3f} times as fast (p10 to p90 of pairs of runs: {})\n", latency.speedup->ratio,
                   spreadOf(*latency.speedup));
}

void printPasses(const Evaluation& evaluation) {
    const bool isCompared = evaluation.prefills.front().reference.has_value();
    fmt::print("seconds of a pass over so many tokens, median of {} runs or more, {}\n",
               std::ranges::min(evaluation.prefills, {}, [](const Prefill& p) { return p.run.timing.seconds.size(); })
                   .run.timing.seconds.size(),
               evaluation.dtype);
    Rows rows{{"tokens", labelOf(evaluation.mask)}};
    if (isCompared)
        rows.front() = {"tokens", labelOf(evaluation.timedAgainst), labelOf(evaluation.mask), "times as fast",
                        "p10 to p90"};
    for (const Prefill& prefill : evaluation.prefills) {
        rows.push_back({std::to_string(prefill.tokens)});
        if (isCompared)
            rows.back().push_back(significant(prefill.reference->timing.median(), 4));
        rows.back().push_back(significant(prefill.run.timing.median(), 4));
        if (isCompared) {
            rows.back().push_back(fmt::format("{:.3f}", prefill.speedup->ratio));
            rows.back().push_back(spreadOf(*prefill.speedup));
        }
    }
    fmt::print("{}", table(std::move(rows), {Align::right, Align::point, Align::point, Align::point}));
}

void printSublayers(const Evaluation& evaluation) {
    Rows rows{{"tokens", "mean seconds in", "attention", "MLP", "rest", "attention"}};
    const auto add = [&](int tokens, const EvaluatedMask& mask, const SublayerSeconds& seconds) {
        rows.push_back({std::to_string(tokens), labelOf(mask), significant(seconds.attentionTotal(), 4),
                        significant(seconds.mlpTotal(), 4), significant(seconds.rest, 3),
                        fmt::format("{:.1f} %", 100 * seconds.attentionTotal() / seconds.total())});
    };
    for (const Prefill& prefill : evaluation.prefills) {
        if (prefill.reference && prefill.reference->bySublayer)
            add(prefill.tokens, evaluation.timedAgainst, *prefill.reference->bySublayer);
        if (prefill.run.bySublayer)
            add(prefill.tokens, evaluation.mask, *prefill.run.bySublayer);
    }
    if (rows.size() > 1)
        fmt::print("{}", table(std::move(rows),
                               {Align::right, Align::left, Align::point, Align::point, Align::point, Align::point}));
}

} // namespace

void addLatencyOptions(CLI::App& verb, LatencyOptions& options) {
    LatencyRules& generation = options.generation;
    CLI::Option* latency =
        verb.add_flag("--latency", options.isAsked,
                      "Time continued prompts (batch 1, KV cache, nothing ends them early) and passes by length; with "
                      "a mask, turn about with the dense model");
    const auto wanted = [&options, latency](CLI::Option* option) {
        option->each([&options](const std::string&) { options.wantsGeneration = true; })->needs(latency);
    };
    wanted(verb.add_option("--prompt-tokens", generation.promptTokens, "Tokens of the prompt")
               ->check(CLI::Range(1, 1 << 24))
               ->capture_default_str());
    wanted(verb.add_option("--new-tokens", generation.newTokens, "Tokens to put behind it; 0 = time passes alone")
               ->check(CLI::Range(0, 1 << 24))
               ->capture_default_str());
    verb.add_option("--warmup", generation.warmup,
                    "Continued prompts that do not count; without any the first one also converts the weights")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--runs", generation.runs, "Continued prompts that do")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->needs(latency);
    verb.add_option("--lengths", options.prefill.lengths,
                    "Tokens of the passes; without it 128,512,2048 as far as the model's context reaches")
        ->option_text("N,...")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 24))
        ->needs(latency);
    verb.add_option_function<std::string>(
            "--by", [&options](const std::string&) { options.prefill.bySublayer = true; },
            "sublayer: how the seconds of a pass divide between attention, MLP and the rest; --json has every layer")
        ->option_text("sublayer")
        ->check(CLI::IsMember({"sublayer"}))
        ->needs(latency);
}

void timeModel(Evaluation& evaluation, ReadyModel& ready, LatencyOptions options, const std::vector<int>& text,
               const Contender& run, const std::optional<Contender>& reference, const Progress& progress) {
    const Model& model = *ready.model;
    const bool takeTurns = !reference || stayTogether(*reference->plan, *run.plan);
    if (!takeTurns)
        ready.warnings.push_back("the weights of both do not stay in memory together: all runs of one came before "
                                 "those of the other");
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
