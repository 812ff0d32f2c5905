#include "analysis/evaluation/timing.h"

#include "analysis/base/statistics.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
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
        for (int round = 0; goesOn(round, works); ++round)
            for (const std::size_t work : works)
                runOnce(work);
    }

    bool goesOn(int round, std::span<const std::size_t> works) const {
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

    /// As long as the latest run each; works that have not run yet are taken to be like the first.
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
    std::vector<std::optional<double>> m_latest; ///< seconds
    std::vector<int> m_done;                     ///< runs, with those of the warm-up
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
        throw UsageError(
            fmt::format("Nothing can be timed by {} runs after {} of warm-up; at least 1 after 0 is needed",
                        rules.leastRuns, rules.warmup));
    return Stopwatch(works, rules, clock, progress, what).run();
}

} // namespace secateur
