#include "analysis/evaluation/latency.h"

#include "analysis/base/error.h"
#include "analysis/running/generate.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <random>

namespace secateur {

namespace {

void check(const Model& model, const LatencyRules& rules) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: it does not continue texts, only its passes over whole texts can be timed",
                    model.card().path);
    if (rules.promptTokens < 1 || rules.newTokens < 1)
        throw UsageError(fmt::format("{} new tokens behind {} cannot be timed; at least 1 behind 1 is needed",
                                     rules.newTokens, rules.promptTokens));
    const std::int64_t tokens = std::int64_t{rules.promptTokens} + rules.newTokens;
    const int context = model.spec().context;
    if (context > 0 && tokens > context)
        throw Error(fmt::format("{} new tokens behind {} do not fit the model's context of {}", rules.newTokens,
                                rules.promptTokens, context),
                    model.card().path);
}

} // namespace

Latency generationLatency(const Model& model, const TimedPlans& plans, const LatencyRules& rules,
                          const Progress& progress) {
    check(model, rules);
    const std::array prompts{firstTokens(model.spec(), rules.text, rules.promptTokens)};
    const GenerationRules generation{.newTokens = rules.newTokens};
    std::vector<TimedWork> works;
    for (const Plan* plan : {plans.reference, &plans.run})
        if (plan)
            works.emplace_back(
                [&, plan](const Progress& quiet) { generate(model, *plan, prompts, generation, quiet); });
    std::vector<Timing> timings = timeWorks(
        works, {.warmup = rules.warmup, .leastRuns = rules.runs, .mostRuns = rules.runs, .takesTurns = plans.takeTurns},
        rules.clock, progress, fmt::format("{} tokens behind {}", rules.newTokens, rules.promptTokens));
    model.checkFiles();
    Latency latency{rules, std::move(timings.back()), {}, {}};
    if (plans.reference) {
        latency.speedup = speedup(timings.front(), latency.run);
        latency.reference = std::move(timings.front());
    }
    return latency;
}

std::vector<int> ordinaryTokens(const ModelSpec& spec, int count, const Tokenizer* tokenizer) {
    std::vector<int> ordinary(static_cast<std::size_t>(spec.vocab));
    std::iota(ordinary.begin(), ordinary.end(), 0);
    if (tokenizer) {
        const auto [first, last] = std::ranges::remove_if(
            ordinary, [&](int id) { return id >= tokenizer->card().size || tokenizer->isSpecial(id); });
        if (first != ordinary.begin())
            ordinary.erase(first, last);
    }
    std::mt19937 random; // NOLINT(cert-msc51-cpp): the same draw each time is what is wanted
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i)
        tokens.push_back(ordinary[random() % ordinary.size()]);
    return tokens;
}

std::vector<int> firstTokens(const ModelSpec& spec, const std::vector<int>& text, int count) {
    if (text.empty())
        return ordinaryTokens(spec, count);
    std::vector<int> tokens;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        tokens.push_back(text[i % text.size()]);
    return tokens;
}

} // namespace secateur
