#include "analysis/evaluation/latency.h"

#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>

namespace secateur {

namespace {

class Stopwatch {
public:
    Stopwatch(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock, const Progress& progress,
              std::string_view what)
        : m_works(works)
        , m_rules(rules)
        , m_clock(clock)
        , m_progress(progress)
        , m_quiet([&progress](double, std::string_view) { progress.check(); })
        , m_what(what)
        , m_timings(works.size())
        , m_latest(works.size())
        , m_done(works.size()) {}

    std::vector<Timing> run() {
        std::vector<std::size_t> all(m_works.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        if (m_rules.takesTurns)
            runInTurns(all);
        else
            for (const std::size_t work : all)
                runInTurns(std::span(&work, 1));
        m_progress.report(1, m_what);
        return std::move(m_timings);
    }

private:
    void runInTurns(std::span<const std::size_t> works) {
        for (int round = 0; needsRound(round, works); ++round)
            for (const std::size_t work : works)
                runOnce(work);
    }

    bool needsRound(int round, std::span<const std::size_t> works) const {
        const int runs = round - m_rules.warmup;
        return runs < m_rules.leastRuns ||
               (runs < m_rules.mostRuns && std::ranges::any_of(works, [&](std::size_t work) {
                    return m_timings[work].relativeError() > m_rules.relativeError;
                }));
    }

    void runOnce(std::size_t work) {
        m_progress.report(fraction(), announcement(work));
        const double begin = m_clock();
        m_works[work](m_quiet);
        const double seconds = m_clock() - begin;
        m_latest[work] = seconds;
        if (m_done[work]++ >= m_rules.warmup)
            m_timings[work].seconds.push_back(seconds);
    }

    double fraction() const {
        const double done = std::accumulate(m_done.begin(), m_done.end(), 0.0);
        return done / (static_cast<double>(m_works.size()) * (m_rules.warmup + m_rules.mostRuns));
    }

    std::string announcement(std::size_t work) const {
        const int done = m_done[work];
        std::string text = done < m_rules.warmup ? fmt::format("{}: warm-up {} of {}", m_what, done + 1, m_rules.warmup)
                                                 : fmt::format("{}: run {}", m_what, done - m_rules.warmup + 1);
        if (const auto seconds = secondsLeft())
            text += fmt::format(", about {:.0f} s left", *seconds);
        return text;
    }

    /// Expected remaining seconds, computed from the latest run of each piece of work. A piece that has not run yet
    /// counts like the first piece.
    std::optional<double> secondsLeft() const {
        if (!m_latest.front())
            return std::nullopt;
        double left = 0;
        for (std::size_t i = 0; i < m_works.size(); ++i)
            left +=
                m_latest[i].value_or(*m_latest.front()) * std::max(0, m_rules.warmup + m_rules.leastRuns - m_done[i]);
        return left;
    }

    std::span<const TimedWork> m_works;
    const TimingRules& m_rules;
    const Clock& m_clock;
    const Progress& m_progress;
    Progress m_quiet;
    std::string_view m_what;
    std::vector<Timing> m_timings;
    std::vector<std::optional<double>> m_latest; ///< for each piece of work, seconds of its latest run
    std::vector<int> m_done;                     ///< for each piece of work, number of its runs, including warm-up
};

} // namespace

Clock steadyClock() {
    return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

double Timing::mean() const {
    return finiteMean(seconds);
}

double Timing::percentile(double percent) const {
    return secateur::percentile(seconds, percent);
}

double Timing::relativeError() const {
    const auto count = static_cast<double>(seconds.size());
    if (count < 2)
        return std::numeric_limits<double>::infinity();
    const double middle = mean();
    double squares = 0;
    for (const double value : seconds)
        squares += (value - middle) * (value - middle);
    return std::sqrt(squares / (count - 1) / count) / middle;
}

Speedup speedup(const Timing& reference, const Timing& run) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(reference.seconds.size(), run.seconds.size()); ++i)
        ratios.push_back(reference.seconds[i] / run.seconds[i]);
    return {reference.median() / run.median(), percentile(ratios, 10), percentile(ratios, 90)};
}

std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what) {
    if (rules.leastRuns < 1 || rules.warmup < 0)
        throw UsageError(fmt::format("{} runs after {} warm-up runs cannot be timed; at least 1 run after 0 is needed",
                                     rules.leastRuns, rules.warmup));
    return Stopwatch(works, rules, clock, progress, what).run();
}

namespace {

void check(const Model& model, const LatencyRules& rules) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: it does not continue texts; only its forward passes can be timed",
                    model.card().path);
    if (rules.promptTokens < 1 || rules.newTokens < 1)
        throw UsageError(fmt::format("{} new tokens after a {}-token prompt cannot be timed; both must be at least 1",
                                     rules.newTokens, rules.promptTokens));
    const std::int64_t tokens = std::int64_t{rules.promptTokens} + rules.newTokens;
    const int context = model.spec().context;
    if (context > 0 && tokens > context)
        throw Error(fmt::format("{} new tokens after a {}-token prompt do not fit the model's context of {}",
                                rules.newTokens, rules.promptTokens, context),
                    model.card().path);
}

} // namespace

Latency generationLatency(const Model& model, const TimedPlans& plans, const LatencyRules& rules,
                          const Progress& progress) {
    check(model, rules);
    if (const FarModel* far = farModel(model)) {
        const auto reference = plans.reference ? std::optional(farPlan(*plans.reference)) : std::nullopt;
        return far->result<Latency>("generation_latency", progress, farPlan(plans.run), reference, plans.takeTurns,
                                    rules);
    }
    const std::array prompts{firstTokens(model.spec(), rules.text, rules.promptTokens)};
    const GenerationRules generation{.newTokens = rules.newTokens};
    std::vector<TimedWork> works;
    for (const Plan* plan : {plans.reference, &plans.run})
        if (plan)
            works.emplace_back(
                [&, plan](const Progress& quiet) { generate(model, *plan, prompts, generation, quiet); });
    std::vector<Timing> timings = timeWorks(
        works, {.warmup = rules.warmup, .leastRuns = rules.runs, .mostRuns = rules.runs, .takesTurns = plans.takeTurns},
        rules.clock, progress, fmt::format("{} tokens after a {}-token prompt", rules.newTokens, rules.promptTokens));
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
    std::mt19937 random; // NOLINT(cert-msc51-cpp): the tokens must be the same each time
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
