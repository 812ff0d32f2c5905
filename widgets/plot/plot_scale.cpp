#include "widgets/plot/plot_scale.h"

#include "analysis/base/statistics.h"
#include "widgets/plot/colour_maps.h"
#include "widgets/plot/plot_theme.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace secateur {

namespace {

constexpr double wideSpread = 100;

std::vector<double> finiteValues(std::span<const double> values, bool positiveOnly) {
    std::vector<double> kept;
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
                 [&](double value) { return std::isfinite(value) && (!positiveOnly || value > 0); });
    return kept;
}

/// Room around a single value, so that it lies in the middle.
void widen(double& lower, double& upper, bool logarithmic) {
    if (logarithmic) {
        lower /= 2;
        upper *= 2;
        return;
    }
    const double room = lower == 0 ? 1 : std::abs(lower) / 2;
    lower -= room;
    upper += room;
}

} // namespace

ColourRange::ColourRange(std::span<const double> values, const ColourScale& scale)
    : m_map(QString::fromStdString(scale.map))
    , m_logarithmic(scale.logarithmic) {
    std::vector<double> kept = finiteValues(values, m_logarithmic);
    if (kept.empty() && m_logarithmic) {
        m_logarithmic = false;
        kept = finiteValues(values, false);
    }
    if (kept.empty())
        return;
    if (scale.clipPercent > 0) {
        m_lower = percentile(kept, scale.clipPercent);
        m_upper = percentile(kept, 100 - scale.clipPercent);
    } else {
        std::tie(m_lower, m_upper) = finiteRange(kept);
    }
    if (isDiverging(m_map) && !m_logarithmic) {
        m_upper = std::max(std::abs(m_lower), std::abs(m_upper));
        m_lower = -m_upper;
    }
    if (!(m_upper > m_lower))
        widen(m_lower, m_upper, m_logarithmic);
    const auto [least, greatest] = finiteRange(values);
    m_hasBelow = least < m_lower;
    m_hasAbove = greatest > m_upper;
}

ColourRange ColourRange::ofClasses(const QStringList& names) {
    ColourRange range;
    range.m_upper = static_cast<double>(names.size());
    for (qsizetype i = 0; i < names.size(); ++i)
        range.m_classes.push_back(classColour(names[i], static_cast<std::size_t>(i)).rgb());
    return range;
}

QRgb ColourRange::colour(double value) const {
    if (!m_classes.empty())
        return m_classes[std::min(static_cast<std::size_t>(std::max(value, 0.0)), m_classes.size() - 1)];
    if (!m_logarithmic)
        return colourAt((value - m_lower) / (m_upper - m_lower));
    return value > 0 ? colourAt(std::log(value / m_lower) / std::log(m_upper / m_lower)) : colourAt(0);
}

QRgb ColourRange::colourAt(double position) const {
    const ColourMap& colours = colourMap(m_map);
    const double index = std::clamp(position, 0.0, 1.0) * static_cast<double>(colours.size());
    return colours[std::min(static_cast<std::size_t>(index), colours.size() - 1)];
}

bool spreadsWidely(std::span<const double> values) {
    const auto [least, greatest] = finiteRange(values);
    return least > 0 && greatest >= wideSpread * least;
}

bool isSigned(std::span<const double> values) {
    const auto [least, greatest] = finiteRange(values);
    return least < 0 && greatest > 0;
}

} // namespace secateur
