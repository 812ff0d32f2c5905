#include "app/cli/sweep_output.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/campaigns/curves_csv.h"
#include "analysis/session/command_line.h"
#include "analysis/strategies/budget.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_text.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/json/curves_json.h"
#include "backends/session/mask_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

namespace secateur::cli {

namespace {

std::string tablePath(const SweepFiles& files) {
    return (std::filesystem::path(files.csv) / "curves.csv").string();
}

/// Calls a function with each point and its strategy.
template <typename Use>
void forEachPoint(const Curves& curves, const Use& use) {
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            use(curve.strategy, point);
}

/// A row of the table: a point, or the dense model.
struct ShownPoint {
    std::string strategy;
    const CurvePoint& point;
};

std::string shownBudget(const CurvePoint& point) {
    const std::string wanted = budgetText(point.key.budget);
    return point.reached ? fmt::format("{} (at most {})", wanted, budgetText(*point.reached)) : wanted;
}

std::string shownNumber(double value, int digits = 4) {
    return std::isnan(value) ? "" : significant(value, digits);
}

std::string shownWithError(double value, double error) {
    return std::isnan(value) ? "" : withError(value, error);
}

std::string shownSaving(const CurvePoint& point, const CurvePoint& dense) {
    if (!point.isChosen() || dense.parameters <= 0)
        return "";
    const double kept = static_cast<double>(point.parameters) / static_cast<double>(dense.parameters);
    return fmt::format("{:.2f} %", 100 * (1 - kept));
}

void printConditions(const Curves& curves) {
    const CurveConditions& own = curves.conditions;
    std::string line = fmt::format("calibrated on {}, {} tokens", shownSource(own.calibration.source),
                                   grouped(static_cast<std::uint64_t>(own.calibration.tokens)));
    if (!own.scored.digest.empty())
        line += fmt::format("; scored on {}, {} tokens", shownSource(own.scored.source),
                            grouped(static_cast<std::uint64_t>(own.scored.tokens)));
    print("{}; {}\n", line, own.dtype);
}

/// Adds a column if any point has a value for it.
template <typename CellOf>
void addUsed(Table& table, Column column, const std::vector<ShownPoint>& points, const CellOf& cellOf) {
    if (std::ranges::any_of(points, [&](const ShownPoint& shown) { return !cellOf(shown).empty(); }))
        table.add(std::move(column), [&](std::size_t row) { return cellOf(points[row]); });
}

void addMeasured(Table& table, const Curves& curves, const std::vector<ShownPoint>& points) {
    const auto number = [&](const char* title, double CurvePoint::* value, int digits) {
        addUsed(table, {title, Align::point}, points,
                [&](const ShownPoint& shown) { return shownNumber(shown.point.*value, digits); });
    };
    number("perplexity", &CurvePoint::perplexity, 6);
    addUsed(table, {"difference", Align::point}, points, [](const ShownPoint& shown) {
        return shownWithError(shown.point.deltaNats, shown.point.deltaStandardError);
    });
    addUsed(table, {"pooled distance", Align::point}, points, [](const ShownPoint& shown) {
        return shownWithError(shown.point.pooledDistance, shown.point.pooledStandardError);
    });
    for (const CurveTask& task : curves.tasks) {
        const std::string id(taskFormat(task.format).metric);
        addUsed(table, {fmt::format("{} {}", task.name, id), Align::point}, points, [&](const ShownPoint& shown) {
            const PointMetric* metric = shown.point.metric(task.name, id);
            return metric ? withError(metric->value, metric->standardError) : "";
        });
    }
    number("tokens/s", &CurvePoint::tokensPerSecond, 4);
}

} // namespace

void checkFiles(const SweepFiles& files) {
    for (const std::string& folder : {files.csv, files.masks})
        if (!folder.empty())
            makeFolder(folder);
    if (!files.csv.empty())
        checkCanWrite(tablePath(files), FileKind::csv, files.force);
}

void writeFiles(const SweepFiles& files, const Session& session, const Curves& curves) {
    if (!files.csv.empty()) {
        writeWhole(tablePath(files), curvesCsv(curves), FileKind::csv, files.force);
        noteWritten(tablePath(files));
    }
    if (files.masks.empty())
        return;
    std::set<std::string> written;
    forEachPoint(curves, [&](const std::string&, const CurvePoint& point) {
        const SessionMask* mask = session.mask(point.mask);
        if (!mask || !written.insert(point.mask).second)
            return;
        const std::string path = (std::filesystem::path(files.masks) / maskFileName(mask->name)).string();
        writeMask(path, mask->record, files.force);
        noteWritten(path);
    });
}

void printCurves(const Curves& curves) {
    printConditions(curves);
    std::vector<ShownPoint> points{{"dense", curves.dense}};
    forEachPoint(curves,
                 [&](const std::string& strategy, const CurvePoint& point) { points.push_back({strategy, point}); });
    Table table(points.size());
    table.add({"strategy"}, [&](std::size_t row) { return points[row].strategy; });
    table.add({"budget"}, [&](std::size_t row) { return row == 0 ? "" : shownBudget(points[row].point); });
    addUsed(table, {"seed", Align::right}, points, [](const ShownPoint& shown) {
        const auto& seed = shown.point.key.seed;
        return seed ? std::to_string(*seed) : "";
    });
    addUsed(table, {"compensation"}, points, [](const ShownPoint& shown) {
        return shown.point.key.compensation == "own" ? "" : shown.point.key.compensation;
    });
    addUsed(table, {"recovery"}, points, [](const ShownPoint& shown) { return shown.point.key.recovered; });
    table.add({"parameters", Align::point},
              [&](std::size_t row) { return row == 0 ? "" : "-" + shownSaving(points[row].point, curves.dense); });
    addMeasured(table, curves, points);
    print(table);
}

void printSweep(const Session& session, const Curves& curves, double seconds, bool asJson) {
    if (asJson) {
        printJson(sweepJson(session, curves, seconds));
        return;
    }
    printCurves(curves);
    printNotes(curves.warnings);
    forEachPoint(curves, [](const std::string& strategy, const CurvePoint& point) {
        if (!point.error.empty())
            printNote("{} {}{}: {}", strategy, budgetText(point.key.budget),
                      point.key.recovered.empty() ? "" : " + " + point.key.recovered, point.error);
    });
}

} // namespace secateur::cli
