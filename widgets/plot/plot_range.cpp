#include "widgets/plot/plot_range.h"

#include "analysis/base/statistics.h"

#include <algorithm>
#include <cmath>

namespace secateur {

AxisRange fittingRange(const std::vector<FigureSeries>& series, bool right, bool logarithmic) {
    std::vector<double> values;
    for (const FigureSeries& line : series) {
        if (line.rightAxis != right)
            continue;
        for (std::size_t i = 0; i < line.values.size(); ++i) {
            const double error = i < line.errors.size() && std::isfinite(line.errors[i]) ? line.errors[i] : 0;
            for (const double value : {line.values[i] - whiskerErrors * error, line.values[i] + whiskerErrors * error})
                if (!logarithmic || value > 0)
                    values.push_back(value);
        }
    }
    auto [least, greatest] = finiteRange(values);
    if (std::isnan(least))
        return {logarithmic ? 0.1 : 0, 1};
    if (logarithmic) {
        const double room = std::max(std::pow(greatest / least, 0.06), 1.05);
        return {least / room, greatest * room};
    }
    const double room = greatest > least ? 0.06 * (greatest - least) : std::max(std::abs(least) / 2, 0.5);
    const bool nearZero = least >= 0 && least < 0.4 * greatest;
    return {nearZero ? 0 : least - room, greatest + room};
}

AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::*along,
                     bool logarithmic) {
    std::vector<double> positions;
    for (const FigureSeries& points : series)
        std::ranges::copy_if(points.*along, std::back_inserter(positions),
                             [&](double x) { return !logarithmic || x > 0; });
    const auto [least, most] = finiteRange(positions);
    if (std::isnan(least))
        return {logarithmic ? 0.1 : 0, 1};
    if (logarithmic) {
        const double room = std::max(std::pow(most / least, 0.05), 1.05);
        return {least / room, most * room};
    }
    const double room = most > least ? 0.05 * (most - least) : std::max(0.05 * std::abs(most), 0.5);
    return {least - room, most + room};
}

AxisRange steadyRange(const AxisRange& shown, const AxisRange& fitting, bool logarithmic) {
    constexpr double growth = 0.1; // of the range
    constexpr double smallest = 0.4;
    if (logarithmic && (shown.lower <= 0 || fitting.lower <= 0))
        return fitting;
    const auto size = [&](const AxisRange& range) {
        return logarithmic ? std::log(range.upper / range.lower) : range.upper - range.lower;
    };
    if (size(fitting) < smallest * size(shown))
        return fitting;
    const auto outwards = [&](double end, double direction) {
        if (end == 0)
            return end; // the axis stands on it
        return logarithmic ? end * std::exp(direction * growth * size(fitting))
                           : end + direction * growth * size(fitting);
    };
    return {fitting.lower < shown.lower ? outwards(fitting.lower, -1) : shown.lower,
            fitting.upper > shown.upper ? outwards(fitting.upper, 1) : shown.upper};
}

} // namespace secateur
