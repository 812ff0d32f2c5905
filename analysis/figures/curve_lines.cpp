#include "analysis/figures/curve_figures.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/metric.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur {

namespace {

bool isNamed(const std::string& strategy, const std::string& name) {
    return strategy == name || fileForm(strategy) == name || strategy.substr(0, strategy.find(':')) == name;
}

std::string textSource(const std::string& source, std::int64_t tokens) {
    return fmt::format("{} ({} tokens)", source, grouped(static_cast<std::uint64_t>(tokens)));
}

} // namespace

const Curves& curvesAt(const Session& session, int index) {
    const auto count = static_cast<int>(session.curves.size());
    if (count == 0)
        throw Error("holds no curves", session.model.name, "secateur-cli sweep MODEL --out SESSION.h5 keeps them");
    int place = index < 0 ? count + index : index;
    const auto scored = std::ranges::find_if(session.curves.rbegin(), session.curves.rend(), &Curves::areScored);
    if (index == -1 && scored != session.curves.rend())
        place = static_cast<int>(std::distance(scored, session.curves.rend())) - 1;
    if (place < 0 || place >= count)
        throw Error(fmt::format("holds {} of curves, numbered from 0", counted(static_cast<std::uint64_t>(count), "set")),
                    fmt::format("set={}", index));
    return session.curves[static_cast<std::size_t>(place)];
}

std::vector<std::size_t> namedCurves(const Curves& curves, std::span<const std::string> names) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < curves.curves.size(); ++i)
        if (names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                return isNamed(curves.curves[i].strategy, name);
            }))
            chosen.push_back(i);
    for (const std::string& name : names)
        if (std::ranges::none_of(curves.curves, [&](const Curve& curve) { return isNamed(curve.strategy, name); })) {
            std::vector<std::string> known;
            for (const Curve& curve : curves.curves)
                known.push_back(fileForm(curve.strategy));
            throw UsageError("the curves have no such strategy; they have " + join(known, ", "), "strategies=" + name);
        }
    return chosen;
}

std::optional<StrategyRequest> knownStrategy(const std::string& resultId) {
    try {
        return parseStrategyRequest(resultId);
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

std::string curveLabel(const Curve& curve, const PointKey& key) {
    std::string label = curve.strategy;
    if (key.compensation == "none")
        label += ", not compensated";
    else if (key.compensation != "own")
        label += ", " + key.compensation;
    return key.recovered.empty() ? label : label + " + " + key.recovered;
}

std::vector<std::vector<std::size_t>> curveLines(const Curve& curve) {
    std::vector<std::vector<std::size_t>> lines;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
        const PointKey& key = curve.points[i].key;
        const auto same = std::ranges::find_if(lines, [&](const std::vector<std::size_t>& line) {
            const PointKey& other = curve.points[line.front()].key;
            return other.compensation == key.compensation && other.recovered == key.recovered;
        });
        if (same == lines.end())
            lines.push_back({i});
        else
            same->push_back(i);
    }
    return lines;
}

std::vector<std::vector<std::size_t>> repetitionsOf(const Curve& curve, std::span<const std::size_t> line) {
    std::vector<std::vector<std::size_t>> groups;
    for (const std::size_t i : line) {
        const auto same = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
            return curve.points[group.front()].key.budget == curve.points[i].key.budget;
        });
        if (same == groups.end())
            groups.push_back({i});
        else
            same->push_back(i);
    }
    return groups;
}

std::string conditionsText(const CurveConditions& conditions) {
    std::vector<std::string> parts;
    if (!conditions.calibrationDigest.empty())
        parts.push_back("calibrated on " + textSource(conditions.calibration.source, conditions.calibration.tokens));
    if (!conditions.scored.digest.empty())
        parts.push_back("scored on " + textSource(conditions.scored.source, conditions.scored.tokens));
    return join(parts, ", ");
}

} // namespace secateur
