#include "analysis/gallery/paper_curves.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace secateur {

namespace {

std::size_t presentLines(const Curves& curves, std::span<const PaperLine> lines) {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const PaperLine& line) { return curveOfPaper(curves, line.strategy); }));
}

std::string strategiesOf(std::span<const PaperLine> lines) {
    std::vector<std::string> names;
    for (const PaperLine& line : lines)
        names.emplace_back(line.strategy);
    return join(names, ", ");
}

bool hasTaskNamed(const Curves& curves, const std::string& name) {
    return std::ranges::find(curves.tasks, name, &CurveTask::name) != curves.tasks.end();
}

/// The first metric of a task among the points; empty if none has the task.
std::string firstMetricOf(const Curves& curves, const std::string& task) {
    std::vector<const CurvePoint*> points{&curves.dense};
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            points.push_back(&point);
    for (const CurvePoint* point : points)
        if (const auto found = std::ranges::find(point->tasks, task, &PointMetric::task); found != point->tasks.end())
            return found->id;
    return {};
}

/// Whether any point has the quantity.
bool isMeasuredAnywhere(const Curves& curves, const PaperQuality& quality) {
    return std::ranges::any_of(curves.curves, [&](const Curve& curve) {
        return std::ranges::any_of(curve.points,
                                   [&](const CurvePoint& point) { return std::isfinite(quality.of(point).value); });
    });
}

FigureSeries emptySeries(const PaperLine& line, SeriesStyle style) {
    FigureSeries series;
    series.label = std::string(line.label);
    series.colour = line.colour;
    series.style = style;
    return series;
}

/// "random_head: 3 seeds (0 to 2)"
std::string seedsOf(const Curve& curve) {
    std::set<std::uint64_t> seeds;
    for (const CurvePoint& point : curve.points)
        if (point.key.seed)
            seeds.insert(*point.key.seed);
    if (seeds.empty())
        return {};
    const std::string range = seeds.size() == 1 ? fmt::format("{}", *seeds.begin())
                                                : fmt::format("{} to {}", *seeds.begin(), *seeds.rbegin());
    return fmt::format("{}: {} ({})", fileForm(curve.strategy), counted(seeds.size(), "seed"), range);
}

} // namespace

const Curve* curveOfPaper(const Curves& curves, std::string_view strategy) {
    const Curve* most = curves.curve(strategy);
    if (strategy.find(':') != std::string_view::npos)
        return most;
    for (const Curve& curve : curves.curves) {
        const std::optional<StrategyRequest> request = knownStrategy(curve.strategy);
        if (request && request->info->id == strategy && request->option("reversed") != "true" &&
            (!most || curve.points.size() > most->points.size()))
            most = &curve;
    }
    return most;
}

const Curves& curvesOfPaper(const Session& session, std::span<const PaperLine> lines, const FigureOptions& options,
                            const PaperStep& step) {
    if (const int index = integerOption(options, "set"); index >= 0)
        return curvesAt(session, index);
    const Curves* best = nullptr;
    for (const Curves& curves : session.curves) {
        const std::size_t most = best ? presentLines(*best, lines) : 1;
        if (presentLines(curves, lines) >= most && (!best || curves.areScored() || !best->areScored()))
            best = &curves;
    }
    if (!best)
        throw lacking(session, "curves with " + strategiesOf(lines), step.paper, step.step);
    return *best;
}

PaperQuality qualityOfPaper(const ModelCard& model, const Curves& curves, std::string_view quantity,
                            const std::string& task, const std::string& metric) {
    PaperQuality quality;
    quality.quantity = &yQuantity(quantity);
    quality.scale.dense = PriceList(model, {.positions = curves.conditions.positions}).price(PruningMask(model.spec));
    quality.scale.task = task;
    quality.scale.metric = metric;
    quality.scale.isPerWord = curves.conditions.scored.rules.protocol == TextProtocol::wordPpl;
    quality.dense = quality.of(curves.dense).value;
    return quality;
}

PaperQuality qualityOfPaper(const ModelCard& model, const Curves& curves, const std::string& task) {
    const std::size_t slash = task.rfind('/');
    const bool namesMetric = slash != std::string::npos && !hasTaskNamed(curves, task);
    std::string name = namesMetric ? task.substr(0, slash) : task;
    if (!name.empty() && !hasTaskNamed(curves, name))
        throw UsageError("the curves have no such task", "task=" + task);
    if (name.empty() && model.spec.classes > 0 && !curves.tasks.empty())
        name = curves.tasks.front().name;
    if (!name.empty())
        return qualityOfPaper(model, curves, "task", name,
                              namesMetric ? task.substr(slash + 1) : firstMetricOf(curves, name));
    PaperQuality pooled = qualityOfPaper(model, curves, "pooled", {}, {});
    pooled.dense = 0; // the distance of the dense model from itself
    return isMeasuredAnywhere(curves, pooled) ? pooled : qualityOfPaper(model, curves, "loss", {}, {});
}

std::vector<std::vector<const CurvePoint*>> budgetsOfPaper(const Curve& curve) {
    std::vector<std::vector<const CurvePoint*>> budgets;
    for (const CurvePoint& point : curve.points) {
        if (!point.isChosen() || point.key.compensation != "own" || !point.key.recovered.empty())
            continue;
        if (budgets.empty() || budgets.back().front()->key.budget != point.key.budget)
            budgets.emplace_back();
        budgets.back().push_back(&point);
    }
    return budgets;
}

FigureSeries paperSeries(const Curve* curve, const PaperLine& line, const PaperPosition& x, const PaperQuality& y) {
    FigureSeries series = emptySeries(line, SeriesStyle::line);
    if (!curve)
        return series;
    for (const std::vector<const CurvePoint*>& group : budgetsOfPaper(*curve)) {
        std::vector<double> values;
        double position = 0;
        for (const CurvePoint* point : group) {
            const double value = y.of(*point).value;
            if (!std::isfinite(value))
                continue;
            values.push_back(value);
            position += x(*point);
        }
        if (values.empty())
            continue;
        const auto count = static_cast<double>(values.size());
        const bool isOne = values.size() == 1;
        double sum = 0;
        for (const double value : values)
            sum += value;
        const double error = y.of(*group.front()).error;
        addPoint(series, {.position = position / count,
                          .value = sum / count,
                          .error = isOne && std::isfinite(error) ? error : 0,
                          .low = isOne ? notMeasured : std::ranges::min(values),
                          .high = isOne ? notMeasured : std::ranges::max(values),
                          .mark = group.front()->reached ? PointMark::hollow : PointMark::none,
                          .name = budgetText(group.front()->key.budget)});
    }
    return series;
}

FigureSeries paperBoxes(const Curve* curve, const PaperLine& line, const PaperPosition& x, const PaperQuality& y) {
    FigureSeries series = emptySeries(line, SeriesStyle::boxes);
    if (!curve)
        return series;
    for (const std::vector<const CurvePoint*>& group : budgetsOfPaper(*curve)) {
        std::vector<double> values;
        for (const CurvePoint* point : group)
            if (const double value = y.of(*point).value; std::isfinite(value))
                values.push_back(value);
        if (values.empty())
            continue;
        series.boxes.push_back(boxOf(values));
        series.positions.push_back(x(*group.front()));
        series.values.push_back(series.boxes.back().median);
        series.names.push_back(fmt::format("{}, {} repetitions", budgetText(group.front()->key.budget), values.size()));
    }
    return series;
}

FigureSeries denseLevel(const PaperQuality& y) {
    return denseLine("dense model", y.dense);
}

std::string conditionsOfPaper(const Curves& curves, std::span<const PaperLine> lines, const PaperQuality& y) {
    std::string text;
    const auto say = [&](std::string sentence) {
        if (sentence.empty())
            return;
        if (sentence.front() >= 'a' && sentence.front() <= 'z')
            sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
        text += " " + sentence + ".";
    };
    say(conditionsText(curves.conditions));
    const ScoredSource& scored = curves.conditions.scored;
    const bool isOfTask = y.quantity == &yQuantity("task");
    if (!isOfTask && !scored.digest.empty() && y.quantity != &yQuantity("pooled"))
        say(fmt::format("protocol {}, window {}", name(scored.rules.protocol), scored.rules.window));
    if (const auto task = std::ranges::find(curves.tasks, y.scale.task, &CurveTask::name);
        isOfTask && task != curves.tasks.end())
        say(fmt::format("{} of {}", counted(static_cast<std::uint64_t>(task->questions), "question"), task->source));
    for (const PaperLine& line : lines)
        if (const Curve* curve = curveOfPaper(curves, line.strategy))
            if (const std::string seeds = seedsOf(*curve); !seeds.empty())
                text += " " + seeds + ".";
    if (curves.conditions.scoresCalibrationText)
        say("the scored text is the calibration text");
    return text;
}

std::string gapsOfPaper(const Session& session, const Figure& figure, std::span<const PaperLine> lines,
                        const PaperStep& step) {
    std::vector<std::string> missing;
    for (const PaperLine& line : lines) {
        const auto drawn = std::ranges::find(figure.series, line.label, &FigureSeries::label);
        if (drawn == figure.series.end() || drawn->values.empty())
            missing.emplace_back(line.strategy);
    }
    return missing.empty()
               ? std::string()
               : fmt::format("no points of {}: {}", join(missing, ", "), recipeCommand(session, step.paper, step.step));
}

} // namespace secateur
