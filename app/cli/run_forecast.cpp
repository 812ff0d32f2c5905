#include "app/cli/run_forecast.h"

#include "analysis/base/text.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/metrics/ablation.h"
#include "analysis/running/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur::cli {

namespace {

std::string tokens(std::int64_t count) {
    return fmt::format("{} {}", grouped(static_cast<std::uint64_t>(count)), count == 1 ? "token" : "tokens");
}

std::string parts(std::int64_t count) {
    return fmt::format(" without each of {} {}", grouped(static_cast<std::uint64_t>(count)),
                       count == 1 ? "part" : "parts");
}

/// The plans as text: "dense and under the mask".
std::string describe(const std::vector<std::shared_ptr<const Plan>>& plans) {
    const auto isDense = [](const auto& plan) { return plan->mask().keepsAll(); };
    const auto dense = std::ranges::count_if(plans, isDense);
    const auto masks = std::ssize(plans) - dense;
    if (masks == 0)
        return "dense";
    const std::string under = masks == 1 ? "under the mask" : fmt::format("under {} masks", masks);
    return dense > 0 ? "dense and " + under : under;
}

} // namespace

RunForecast::RunForecast(const Model& model, std::vector<std::shared_ptr<const Plan>> plans, const Console& console,
                         const Progress& progress)
    : m_model(model)
    , m_plans(std::move(plans))
    , m_console(console)
    , m_isWanted(console.showsProgress()) {
    if (!m_isWanted)
        return;
    const auto dense = model.runner().plan(PruningMask(model.spec()), m_plans.front()->type());
    m_speed = runSpeed(model, *dense, progress);
    bool isDenseLoaded = false;
    for (const auto& plan : m_plans) {
        m_seconds += loadingSeconds(m_speed, *plan, isDenseLoaded);
        isDenseLoaded = isDenseLoaded || plan->mask().keepsAll();
    }
}

void RunForecast::add(const RunSize& size, double factor) {
    for (const auto& plan : m_plans)
        m_seconds += factor * runSeconds(m_speed, m_model.spec(), plan->mask(), size);
    m_parts.push_back(tokens(size.tokens));
}

void RunForecast::add(const TaskWork& work, const std::string& name) {
    for (const auto& plan : m_plans) {
        const double step = m_isWanted && work.steps > 0 ? stepSeconds(m_model, *plan) : 0;
        m_seconds += taskSeconds(m_speed, m_model.spec(), plan->mask(), work, step);
    }
    m_isMost = m_isMost || work.newTokens > 0;
    m_parts.push_back(tokens(work.size.tokens) + (name.empty() ? "" : " of " + name));
    if (work.newTokens > 0)
        m_parts.back() += fmt::format(" with up to {} new ones", grouped(static_cast<std::uint64_t>(work.newTokens)));
}

void RunForecast::add(RunSize size, const AblationPasses& passes) {
    if (passes.parts == 0)
        return;
    size.read = static_cast<std::int64_t>(static_cast<double>(size.read) * passes.lmHeads / passes.layers);
    add(size, passes.layers);
    m_parts.back() += parts(passes.parts);
}

void RunForecast::add(const TaskWork& work, const std::string& name, std::int64_t partCount) {
    const double before = m_seconds;
    add(work, name);
    m_seconds = before + (m_seconds - before) * static_cast<double>(partCount + 1);
    m_parts.back() += parts(partCount);
}

void RunForecast::add(const LatencyRules& rules) {
    for (const auto& plan : m_plans) {
        const double step = m_isWanted ? stepSeconds(m_model, *plan) : 0;
        m_seconds += latencySeconds(m_speed, m_model.spec(), plan->mask(), rules, step);
    }
    m_parts.push_back(fmt::format("{} times {} after a {}-token prompt", rules.warmup + rules.runs,
                                  tokens(rules.newTokens), rules.promptTokens));
}

void RunForecast::add(const PrefillRules& rules) {
    for (const auto& plan : m_plans)
        m_seconds += prefillSeconds(m_speed, m_model.spec(), plan->mask(), rules);
    m_isLeast = true;
    std::vector<std::string> lengths;
    for (const int length : rules.lengths.empty() ? defaultLengths(m_model.spec()) : rules.lengths)
        lengths.push_back(grouped(static_cast<std::uint64_t>(length)));
    m_parts.push_back(fmt::format("passes over {} tokens", join(lengths, "/")));
}

void RunForecast::say() const {
    if (!m_isWanted)
        return;
    const std::string text = forecastText(m_seconds, fmt::format("{}, {}", join(m_parts, " and "), describe(m_plans)));
    const char* bound = m_isMost == m_isLeast ? "" : m_isMost ? "at most " : "at least ";
    m_console.announce(m_seconds, bound + text);
}

RunSize predictedSizeOf(const SequenceSet& set, const ModelSpec& spec) {
    RunSize size = sizeOf(set);
    if (spec.family == Family::decoder)
        size.read = set.tokens - std::ssize(set.sequences);
    return size;
}

std::string forecastText(double seconds, const std::string& work) {
    return fmt::format("about {:.{}f} s for {}", seconds, seconds < 10 ? 1 : 0, work);
}

} // namespace secateur::cli
