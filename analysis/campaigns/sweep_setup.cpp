#include "analysis/campaigns/sweep_setup.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/campaigns/presets.h"

#include <charconv>
#include <string_view>

namespace secateur {

namespace {

constexpr char lineEnd = '\n';

std::vector<std::string> linesOf(const std::string& text) {
    return text.empty() ? std::vector<std::string>() : split(text, lineEnd);
}

/// Replaces a value by the number in a text, if the text is a positive one. Returns whether it is.
template <typename Number>
bool read(const std::string& text, Number& value) {
    Number number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool isValid = failure == std::errc() && end == text.data() + text.size() && number > 0;
    if (isValid)
        value = number;
    return isValid;
}

} // namespace

SweepRequest requestOf(const SweepSetup& setup, const std::string& protect) {
    if (setup.strategies.empty())
        throw UsageError("No strategy is chosen");
    if (setup.recovery.isWanted())
        settingsOf(setup.recovery);
    SweepRequest request;
    request.series = seriesOf(join(setup.strategies, ","), setup.budgets, setup.repetitions);
    request.protect = protect;
    return request;
}

std::map<std::string, std::string> viewOf(const SweepSetup& setup) {
    return {{"sweep.strategies", join(setup.strategies, "\n")},
            {"sweep.budgets", setup.budgets},
            {"sweep.repetitions", std::to_string(setup.repetitions)},
            {"sweep.text", setup.text},
            {"sweep.tokens", std::to_string(setup.tokens)},
            {"sweep.score", setup.score},
            {"sweep.scoretokens", std::to_string(setup.scoreTokens)},
            {"sweep.tasks", join(setup.tasks, "\n")},
            {"sweep.stability", std::to_string(setup.stabilityParts)},
            {"sweep.recover", setup.recovery.recipe},
            {"sweep.recoverdata", setup.recovery.data},
            {"sweep.recoversteps", setup.recovery.steps ? std::to_string(*setup.recovery.steps) : std::string()}};
}

SweepSetup setupOf(const std::map<std::string, std::string>& view) {
    const auto entry = [&](const char* name) {
        const auto found = view.find(name);
        return found == view.end() ? std::string() : found->second;
    };
    SweepSetup setup;
    setup.strategies = linesOf(entry("sweep.strategies"));
    if (const std::string budgets = entry("sweep.budgets"); !budgets.empty())
        setup.budgets = budgets;
    read(entry("sweep.repetitions"), setup.repetitions);
    setup.text = entry("sweep.text");
    read(entry("sweep.tokens"), setup.tokens);
    setup.score = entry("sweep.score");
    read(entry("sweep.scoretokens"), setup.scoreTokens);
    setup.tasks = linesOf(entry("sweep.tasks"));
    read(entry("sweep.stability"), setup.stabilityParts);
    setup.recovery.recipe = entry("sweep.recover");
    setup.recovery.data = entry("sweep.recoverdata");
    if (std::int64_t steps = 0; read(entry("sweep.recoversteps"), steps))
        setup.recovery.steps = steps;
    return setup;
}

} // namespace secateur
