#include "analysis/campaigns/presets.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr std::array presets{
    SweepPreset{.id = "gate_norm",
                .summary = "Attention sublayers by gate-norm, by importance and at random, and blocks (figure 4, table 1)",
                .source = "Gate-Norm paper",
                .quick = {"attention_importance,gate_norm,block_influence @ 1,4,7,10,13;"
                          "3 x random_attention @ 1,4,7,10,13"},
                .paper = {"attention_importance,gate_norm,block_influence @ 1,4,7,8,10,12,13,16,20,25;"
                          "3 x random_attention @ 1,4,7,8,10,12,13,16,20,25",
                          1024 * 1024},
                .scale = PresetScale::ifNeeded,
                .paperLayers = 40},
    SweepPreset{.id = "greedy_gnorm",
                .summary = "Heads by gradient norm and by attention entropy from both ends, and at random (figures 3, 4)",
                .source = "Greedy-Gnorm paper",
                .quick = {"gnorm_greedy:per_step=HEADS/24,gnorm_inverse:per_step=HEADS/24 @ 12 levels;"
                          "entropy,entropy_inverse @ 12 levels; 3 x random_head @ 12 levels",
                          2048},
                .paper = {"gnorm_greedy,gnorm_inverse,entropy,entropy_inverse @ 24 levels;"
                          "25 x random_head @ 24 levels"}},
    SweepPreset{.id = "amp",
                .summary = "Heads and neurons by activations: budgets, orders and components (tables 1 to 3)",
                .source = "AMP paper",
                .quick = {"amp @ 3,7,10; amp:order=reversed,amp:order=random @ 10"},
                .paper = {"amp @ 3,7,10,17; amp:order=reversed,amp:order=random @ 3,7,10;"
                          "amp:components=mlp,amp:components=heads @ 10"},
                .scale = PresetScale::always,
                .paperLayers = 32},
    SweepPreset{.id = "amp_coherence",
                .summary = "Heads and neurons by activations in the standard, the reversed and a random order, the last "
                           "five times (table 2)",
                .source = "AMP paper",
                .quick = {"amp,amp:order=reversed @ 3,7,10; 5 x amp:order=random @ 3,7,10"},
                .paper = {"amp,amp:order=reversed @ 3,7,10; 5 x amp:order=random @ 3,7,10"},
                .scale = PresetScale::always,
                .paperLayers = 32},
    SweepPreset{.id = "bos",
                .summary = "Heads and blocks by BOS sink scores, and their baselines; the first and the last layer stay "
                           "(tables 1, 2, figure 7)",
                .source = "BOS-sink paper",
                .quick = {"sink_head,mag_sp:components=heads,wanda_sp:components=heads @ 12.5%,25%,37.5%;"
                          "bottom_up,top_down,block_influence,sink_block @ 12.5%,25%",
                          1024},
                .paper = {"sink_head,mag_sp:components=heads,wanda_sp:components=heads @ "
                          "12.5%,25%,37.5%,50%,62.5%,75%;"
                          "bottom_up,top_down,block_influence,sink_block @ 12.5%,25%"},
                .protect = "first_last"},
    SweepPreset{.id = "harp",
                .summary = "Bypassed attention by place and by similarity, with searched and with full scales, and "
                           "one-shot baselines (tables 1, 5)",
                .source = "HARP paper",
                .quick = {"harp,harp:position=middle,harp:position=bottom @ 4", 2048},
                .paper = {"harp,harp:position=middle,harp:position=bottom,"
                          "harp:metric=token_similarity:position=by_metric,harp:alpha=fixed:value=1,harp:mlp=flap @ 8;"
                          "mag_sp,wanda_sp,flap @ 12.5%"},
                .scale = PresetScale::always,
                .paperLayers = 32},
};

/// A whole number at the beginning of a text, which it is removed from; empty if there is none.
std::optional<int> takeNumber(std::string_view& text) {
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// The text with each HEADS/N replaced by the number of heads divided by N.
std::string withHeads(std::string_view text, std::size_t heads) {
    constexpr std::string_view word = "HEADS/";
    std::string result;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word)) {
        result += text.substr(0, at);
        text.remove_prefix(at + word.size());
        const int share = takeNumber(text).value_or(1);
        result += std::to_string(std::max<std::size_t>(1, heads / static_cast<std::size_t>(share)));
    }
    return result + std::string(text);
}

std::vector<Budget> budgetsOf(std::string_view text) {
    std::string_view rest = trimmed(text);
    if (const auto levels = takeNumber(rest); levels && trimmed(rest) == "levels") {
        std::vector<Budget> budgets;
        for (int level = 1; level <= *levels; ++level)
            budgets.push_back({100.0 * level / *levels, true});
        return budgets;
    }
    std::vector<Budget> budgets;
    for (const std::string& one : split(trimmed(text), ','))
        budgets.push_back(parseBudget(trimmed(one)));
    return budgets;
}

/// Adapts budgets in units to the model's depth. Budgets that become equal are joined when a sweep is planned.
void adapt(std::vector<SweepSeries>& series, const SweepPreset& row, int layers) {
    double largest = 0;
    for (const SweepSeries& one : series)
        for (const Budget& budget : one.budgets)
            largest = budget.isPercentage ? largest : std::max(largest, budget.amount);
    const bool isScaled =
        row.scale == PresetScale::always || (row.scale == PresetScale::ifNeeded && 2 * largest > layers);
    if (!isScaled)
        return;
    for (SweepSeries& one : series)
        for (Budget& budget : one.budgets)
            if (!budget.isPercentage)
                budget.amount = std::max(1.0, std::round(budget.amount * layers / row.paperLayers));
}

} // namespace

SweepSize sweepSizeOf(std::string_view name) {
    if (name != "quick" && name != "paper")
        throw UsageError(fmt::format("\"{}\" must be quick or paper", name), "--size");
    return name == "quick" ? SweepSize::quick : SweepSize::paper;
}

std::span<const SweepPreset> allPresets() {
    return presets;
}

const SweepPreset& preset(std::string_view id) {
    const auto found = std::ranges::find(presets, id, &SweepPreset::id);
    if (found == presets.end())
        refuseUnknown("preset", id, idsOf(allPresets()));
    return *found;
}

std::vector<SweepSeries> presetSeries(const SweepPreset& preset, SweepSize size, const ModelSpec& spec) {
    std::vector<SweepSeries> all;
    for (const std::string& text : split(preset.points(size).series, ';')) {
        std::string_view rest = trimmed(text);
        const int repetitions = takeNumber(rest).value_or(1);
        if (rest != trimmed(text)) // "N x "
            rest = trimmed(trimmed(rest).substr(1));
        const std::size_t at = rest.find('@');
        const std::string strategies = withHeads(trimmed(rest.substr(0, at)), unitCount(spec, CutUnit::head));
        for (const std::string& strategy : split(strategies, ','))
            all.push_back({parseStrategyRequest(strategy), budgetsOf(rest.substr(at + 1)), repetitions});
    }
    adapt(all, preset, spec.layerCount());
    return all;
}

std::vector<SweepSeries> seriesOf(std::string_view strategies, std::string_view budgets, int repetitions) {
    std::vector<SweepSeries> all;
    for (const std::string& strategy : split(strategies, ','))
        all.push_back({parseStrategyRequest(strategy), budgetsOf(budgets), repetitions});
    return all;
}

} // namespace secateur
