#include "analysis/figures/value_scale.h"

#include "analysis/base/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace secateur {

namespace {

struct NamedScale {
    ScaleKind kind;
    std::string_view name;
    std::string_view note; ///< what it adds to a label
};

constexpr std::array scales{
    NamedScale{ScaleKind::automatic, "auto", ""},
    NamedScale{ScaleKind::linear, "linear", ""},
    NamedScale{ScaleKind::logarithmic, "log", "log scale"},
    NamedScale{ScaleKind::rank, "rank", "percentile in the model"},
    NamedScale{ScaleKind::withinLayer, "layer", "share of the layer's largest"},
};

const NamedScale& rowOf(ScaleKind kind) {
    return *std::ranges::find(scales, kind, &NamedScale::kind);
}

std::vector<double> sortedFinite(std::span<const double> values) {
    std::vector<double> sorted;
    std::ranges::copy_if(values, std::back_inserter(sorted), [](double value) { return std::isfinite(value); });
    std::ranges::sort(sorted);
    return sorted;
}

/// Whether most values crowd at the low end of a linear range.
bool wastesLinearRange(std::span<const double> values, double clipPercent) {
    constexpr double lowest = 0.25; // of the range
    constexpr double most = 0.75;   // of the values
    const std::array ends{clipPercent, 100 - clipPercent};
    const std::vector<double> range = percentiles(values, ends);
    const double limit = range[0] + lowest * (range[1] - range[0]);
    const auto count = [&](auto isMeant) { return static_cast<double>(std::ranges::count_if(values, isMeant)); };
    const double all = count([](double value) { return std::isfinite(value); });
    const double low = count([&](double value) { return std::isfinite(value) && value < limit; });
    return range[1] > range[0] && low >= most * all;
}

} // namespace

std::string_view name(ScaleKind kind) {
    return rowOf(kind).name;
}

ScaleKind scaleNamed(std::string_view name, ScaleKind otherwise) {
    const auto found = std::ranges::find(scales, name, &NamedScale::name);
    return found == scales.end() ? otherwise : found->kind;
}

bool suits(ScaleKind kind, std::span<const double> values) {
    const auto [least, greatest] = finiteRange(values);
    return kind == ScaleKind::logarithmic   ? least > 0
           : kind == ScaleKind::withinLayer ? least >= 0 && greatest > 0
                                            : true;
}

ScaleKind usedScale(ScaleKind kind, std::span<const double> values, double clipPercent) {
    const double greatest = finiteRange(values).second;
    if (kind == ScaleKind::automatic)
        return suits(ScaleKind::logarithmic, values) && wastesLinearRange(values, clipPercent) ? ScaleKind::logarithmic
                                                                                               : ScaleKind::linear;
    if (kind == ScaleKind::logarithmic)
        return greatest > 0 ? kind : ScaleKind::linear;
    return suits(kind, values) ? kind : ScaleKind::linear;
}

Matrix onScale(const Matrix& values, ScaleKind kind) {
    Matrix shown = values;
    if (kind == ScaleKind::rank) {
        const std::vector<double> ranks = averageRanks(values.values());
        const auto count = std::ranges::count_if(ranks, [](double rank) { return !std::isnan(rank); });
        for (std::size_t cell = 0; cell < ranks.size(); ++cell)
            shown.values()[cell] = 100 * (ranks[cell] - 0.5) / static_cast<double>(std::max<long>(count, 1));
    } else if (kind == ScaleKind::withinLayer) {
        for (std::size_t row = 0; row < values.rows(); ++row) {
            const double largest = finiteRange(values.row(row)).second;
            for (double& value : shown.row(row))
                value = largest > 0 ? value / largest : value;
        }
    }
    return shown;
}

double valueAtPercentile(std::span<const double> values, double percent) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const std::vector<double> sorted = sortedFinite(values);
    const auto count = static_cast<double>(sorted.size());
    const auto below = static_cast<std::size_t>(std::clamp(std::floor(percent / 100 * count + 0.5), 0.0, count));
    return below == 0 ? -infinite : below == sorted.size() ? infinite : std::midpoint(sorted[below - 1], sorted[below]);
}

double percentUpTo(std::span<const double> values, double value) {
    const std::vector<double> sorted = sortedFinite(values);
    const auto upTo = static_cast<double>(std::ranges::upper_bound(sorted, value) - sorted.begin());
    return 100 * upTo / static_cast<double>(sorted.size());
}

std::string scaledLabel(const std::string& label, ScaleKind kind) {
    const std::string note(rowOf(kind).note);
    return note.empty() ? label : label.empty() ? note : label + ", " + note;
}

} // namespace secateur
