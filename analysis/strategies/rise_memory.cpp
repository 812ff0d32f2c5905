#include "analysis/strategies/rise_memory.h"

#include "analysis/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace secateur {

namespace {

constexpr std::size_t fewestMeasured = 12; ///< number of rises that are measured in each step
constexpr double deviations = 2;           ///< number of standard errors within which a rise is in doubt

/// The standard error of the predictions, relative to their doubts; infinite if none was measured. It is estimated from
/// the mean absolute error, which single rises that change much more than the others affect less than the mean square.
double commonError(std::span<const PredictedRise> predicted, std::span<const double> measured) {
    const double ofNormal = std::sqrt(std::numbers::pi / 2); // the standard deviation in mean absolute deviations
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const double error = measured[i] - predicted[i].rise;
        if (!std::isfinite(error) || predicted[i].doubt == 0)
            continue;
        sum += std::abs(error) / predicted[i].doubt;
        ++count;
    }
    return count > 0 ? ofNormal * sum / static_cast<double>(count) : std::numeric_limits<double>::infinity();
}

} // namespace

void RiseMemory::remember(std::span<const AblationPart> parts, std::span<const double> rises) {
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (!std::isnan(rises[i]))
            m_known[unitOf(parts[i])] = {rises[i], 0};
}

void RiseMemory::addCut(const AblationPart& part) {
    constexpr int ownLayer = 4;
    for (auto& [unit, known] : m_known)
        known.age += std::get<0>(unit) == part.layer ? ownLayer : 1;
}

std::vector<PredictedRise> RiseMemory::predictions(std::span<const AblationPart> parts) const {
    std::vector<double> sizes;
    for (const AblationPart& part : parts)
        if (const auto found = m_known.find(unitOf(part)); found != m_known.end())
            sizes.push_back(std::abs(found->second.rise));
    const double usual = sizes.empty() ? 0 : percentile(sizes, 50);
    std::vector<PredictedRise> predicted;
    for (const AblationPart& part : parts) {
        const auto found = m_known.find(unitOf(part));
        if (found == m_known.end()) {
            predicted.push_back({-std::numeric_limits<double>::infinity(), 0});
            continue;
        }
        const auto& [rise, age] = found->second;
        predicted.push_back({rise, (std::abs(rise) + usual) * std::sqrt(age)});
    }
    return predicted;
}

std::vector<std::size_t> doubtfulRises(std::span<const PredictedRise> predicted, std::span<const double> measured) {
    double lowest = std::numeric_limits<double>::infinity();
    std::size_t count = 0; // number of rises that were measured
    for (const double rise : measured)
        if (!std::isnan(rise)) {
            lowest = std::min(lowest, rise);
            ++count;
        }
    const double error = count > 0 ? deviations * commonError(predicted, measured) : 0;
    std::vector<std::pair<double, std::size_t>> found; // the lowest likely rise, and the index
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const double least = predicted[i].rise - (predicted[i].doubt > 0 ? error * predicted[i].doubt : 0);
        if (std::isnan(measured[i]) && least < lowest)
            found.emplace_back(least, i);
    }
    std::ranges::sort(found);
    found.resize(std::min(found.size(), std::max(count, fewestMeasured)));
    std::vector<std::size_t> chosen;
    for (const auto& [least, index] : found)
        chosen.push_back(index);
    std::ranges::sort(chosen);
    return chosen;
}

} // namespace secateur
