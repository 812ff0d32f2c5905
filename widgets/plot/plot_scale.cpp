#include "widgets/plot/plot_scale.h"

#include "analysis/base/statistics.h"
#include "widgets/plot/plot_axes.h"

#include <QFile>
#include <QTextStream>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <vector>

/// Resources of a static library are linked only if they are initialised. The macro must be used outside of namespaces.
static void loadResources() {
    Q_INIT_RESOURCE(resources);
}

namespace secateur {

namespace {

struct NamedMap {
    QString id;
    bool diverging;
    ColourMap colours;
};

ColourMap readColours(const QString& id) {
    ColourMap colours{};
    QFile file(":/colour_maps/" + id + ".txt");
    if (!file.open(QIODevice::ReadOnly))
        qFatal("the colour map %s is not among the resources", qPrintable(id));
    QTextStream text(&file);
    for (QRgb& colour : colours) {
        int red = 0;
        int green = 0;
        int blue = 0;
        text >> red >> green >> blue;
        colour = qRgb(red, green, blue);
    }
    return colours;
}

const std::vector<NamedMap>& colourMaps() {
    loadResources();
    static const std::vector<NamedMap> maps{
        {"viridis", false, readColours("viridis")},
        {"cividis", false, readColours("cividis")},
        {"magma", false, readColours("magma")},
        {"vik", true, readColours("vik")},
    };
    return maps;
}

const NamedMap& namedMap(const QString& id) {
    const auto found =
        std::find_if(colourMaps().begin(), colourMaps().end(), [&](const NamedMap& map) { return map.id == id; });
    return found == colourMaps().end() ? colourMaps().front() : *found;
}

std::vector<double> finiteValues(std::span<const double> values, bool positiveOnly) {
    std::vector<double> kept;
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
                 [&](double value) { return std::isfinite(value) && (!positiveOnly || value > 0); });
    return kept;
}

/// Widens a range that contains a single value.
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

QStringList colourMapIds() {
    QStringList ids;
    for (const NamedMap& map : colourMaps())
        ids << map.id;
    return ids;
}

const ColourMap& colourMap(const QString& id) {
    return namedMap(id).colours;
}

bool isDiverging(const QString& id) {
    return namedMap(id).diverging;
}

ColourRange::ColourRange(std::span<const double> values, const ColourScale& scale)
    : m_map(QString::fromStdString(scale.map))
    , m_logarithmic(scale.kind == ScaleKind::logarithmic) {
    std::vector<double> kept = finiteValues(values, m_logarithmic);
    if (kept.empty() && m_logarithmic) {
        m_logarithmic = false;
        kept = finiteValues(values, false);
    }
    if (kept.empty())
        return;
    if (scale.clipPercent > 0 && scale.kind != ScaleKind::rank) {
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

bool isSigned(std::span<const double> values) {
    const auto [least, greatest] = finiteRange(values);
    return least < 0 && greatest > 0;
}

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

AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::* along,
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
    constexpr double growth = 0.1; // margin of an end that moves, as a share of the range
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
            return end; // an axis that begins or ends at 0 gets no margin there
        return logarithmic ? end * std::exp(direction * growth * size(fitting))
                           : end + direction * growth * size(fitting);
    };
    return {fitting.lower < shown.lower ? outwards(fitting.lower, -1) : shown.lower,
            fitting.upper > shown.upper ? outwards(fitting.upper, 1) : shown.upper};
}

} // namespace secateur
