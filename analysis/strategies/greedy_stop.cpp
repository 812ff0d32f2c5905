#include "analysis/strategies/greedy_stop.h"

#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace secateur {

GreedyStop greedyStopOf(std::string_view option) {
    using At = GreedyStop::At;
    if (option == "budget")
        return {At::budget, 0};
    if (option == "knee")
        return {At::knee, 0};
    constexpr std::string_view floor = "floor:";
    GreedyStop stop{At::floor, 0};
    if (option.starts_with(floor)) {
        const char* const end = option.data() + option.size();
        const auto [last, failure] = std::from_chars(option.data() + floor.size(), end, stop.worse);
        if (failure == std::errc() && last == end && stop.worse >= 0 && std::isfinite(stop.worse))
            return stop;
    }
    throw UsageError(fmt::format("stop={} is none of budget, floor:X with a number from 0, and knee", option),
                     "--strategy");
}

int perStepOf(const StrategyRequest& request) {
    const std::string text = request.option("per_step");
    int heads = 0;
    const auto [last, failure] = std::from_chars(text.data(), text.data() + text.size(), heads);
    if (failure != std::errc() || last != text.data() + text.size() || heads < 1)
        throw UsageError(fmt::format("per_step={} should be 1 or more", text), std::string(request.info->id));
    return heads;
}

std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse) {
    if (worse.empty() || !(worse.back() > 0))
        return worse.size();
    std::size_t knee = 0;
    double farthest = 0;
    for (std::size_t i = 0; i < worse.size(); ++i) {
        const double below = cuts[i] / cuts.back() - worse[i] / worse.back();
        if (below > farthest) {
            farthest = below;
            knee = i + 1;
        }
    }
    return knee;
}

} // namespace secateur
