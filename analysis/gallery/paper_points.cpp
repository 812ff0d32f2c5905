#include "analysis/gallery/paper_points.h"

#include "analysis/base/text.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/gallery/published.h"
#include "analysis/strategies/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

namespace secateur {

namespace {

std::string_view fileName(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 = 0
}

std::string_view stemOf(std::string_view name) {
    return name.substr(0, name.rfind('.'));
}

/// The mean and the range of values; NaN are left out.
PointValue summary(const std::vector<double>& values) {
    PointValue all;
    double sum = 0;
    for (const double value : values) {
        if (std::isnan(value))
            continue;
        all.low = all.repetitions == 0 ? value : std::min(all.low, value);
        all.high = all.repetitions == 0 ? value : std::max(all.high, value);
        sum += value;
        ++all.repetitions;
    }
    if (all.repetitions > 0)
        all.value = sum / static_cast<double>(all.repetitions);
    return all;
}

std::string protocolText(const ScoredSource& scored) {
    if (scored.rules.protocol == TextProtocol::wordPpl)
        return "per word, rolling windows";
    return fmt::format("per token, windows of {} tokens", grouped(static_cast<std::uint64_t>(scored.rules.window)));
}

} // namespace

void addTrainingNote(FigureTable& table, const Curves& curves, std::span<const TablePoints> points) {
    std::vector<std::string> names;
    for (const TablePoints& wanted : points)
        for (const CurvePoint* point : PointSource::find(curves, wanted))
            if (const std::string& name = point->key.recovered;
                !name.empty() && std::ranges::find(names, name) == names.end())
                names.push_back(name);
    if (!names.empty())
        table.notes.push_back(fmt::format("Recovery training: {}.", join(names, ", ")));
}

const CurveTask* taskOf(const Curves& curves, const PointColumn& column) {
    const std::string wanted = plainName(stemOf(column.task));
    if (wanted.empty())
        return nullptr;
    const auto hasName = [&](const CurveTask& task) {
        return plainName(stemOf(fileName(task.source))).starts_with(wanted) || plainName(task.name).starts_with(wanted);
    };
    auto found = std::ranges::find_if(curves.tasks, hasName);
    if (found == curves.tasks.end() && !column.format.empty())
        found = std::ranges::find(curves.tasks, column.format, &CurveTask::format);
    return found == curves.tasks.end() ? nullptr : &*found;
}

std::vector<TablePoints> allPointsOf(const Session& session, std::span<const std::string_view> strategies) {
    std::vector<TablePoints> all;
    for (const Curves& curves : session.curves)
        for (const std::string_view strategy : strategies)
            if (const Curve* curve = curves.curve(strategy))
                for (const CurvePoint& point : curve->points) {
                    const bool isRecovered = !point.key.recovered.empty();
                    const bool isKnown = std::ranges::any_of(all, [&](const TablePoints& one) {
                        return one.strategy == strategy && one.budget == point.key.budget &&
                               one.isRecovered == isRecovered && one.compensation == point.key.compensation;
                    });
                    if (!isKnown)
                        all.push_back(
                            {std::string(strategy), point.key.budget, isRecovered, point.key.compensation, {}});
                }
    return all;
}

double removedShare(const Session& session, const TablePoints& points) {
    for (auto curves = session.curves.rbegin(); curves != session.curves.rend(); ++curves) {
        const std::vector<const CurvePoint*> found = PointSource::find(*curves, points);
        if (found.empty() || curves->dense.parameters == 0)
            continue;
        double kept = 0;
        for (const CurvePoint* point : found)
            kept += static_cast<double>(point->parameters) / static_cast<double>(found.size());
        return 1 - kept / static_cast<double>(curves->dense.parameters);
    }
    return notMeasured;
}

PointSource::PointSource(const Session& session, std::vector<TablePoints> wanted)
    : m_session(session)
    , m_wanted(std::move(wanted)) {}

std::vector<const CurvePoint*> PointSource::find(const Curves& curves, const TablePoints& points) {
    if (points.strategy.empty())
        return {&curves.dense};
    std::vector<const CurvePoint*> found;
    const Curve* curve = curves.curve(points.strategy);
    if (!curve)
        return found;
    const auto isLike = [&](const CurvePoint& point) {
        return point.key.budget == points.budget && point.key.compensation == points.compensation &&
               point.key.recovered.empty() != points.isRecovered && point.isChosen();
    };
    std::string recovery = points.recovery;
    if (points.isRecovered && recovery.empty())
        for (const CurvePoint& point : curve->points)
            if (isLike(point) && (recovery.empty() || point.key.recovered.size() < recovery.size()))
                recovery = point.key.recovered;
    for (const CurvePoint& point : curve->points)
        if (isLike(point) && point.key.recovered == recovery)
            found.push_back(&point);
    return found;
}

double PointSource::valueAt(const Curves& curves, const CurvePoint& point, const PointColumn& column) const {
    if (!column.task.empty()) {
        const CurveTask* task = taskOf(curves, column);
        const PointMetric* metric = task ? point.metric(task->name, column.metric) : nullptr;
        return metric ? metric->value : notMeasured;
    }
    if (column.metric == "perplexity")
        return point.perplexity;
    if (column.metric == "loss")
        return point.lossNats;
    if (column.metric == "delta")
        return &point == &curves.dense ? 0 : point.deltaNats;
    if (column.metric == "pooled")
        return point.pooledDistance;
    if (column.metric == "tokens_per_second")
        return point.tokensPerSecond;
    if (column.metric == "speedup")
        return point.tokensPerSecond / curves.dense.tokensPerSecond;
    return notMeasured;
}

const Curves* PointSource::curves(const PointColumn& column) const {
    const Curves* best = nullptr;
    std::size_t most = 0;
    for (const Curves& set : m_session.curves) {
        std::size_t held = 0;
        for (const TablePoints& points : m_wanted)
            for (const CurvePoint* point : find(set, points))
                held += !points.strategy.empty() && !std::isnan(valueAt(set, *point, column)) ? 1 : 0;
        if (held >= most && held > 0) { // of several, the latest
            best = &set;
            most = held;
        }
    }
    return best;
}

PointValue PointSource::value(const PointColumn& column, const TablePoints& points) const {
    const Curves* set = curves(column);
    if (!set)
        return {};
    const std::vector<const CurvePoint*> found = find(*set, points);
    std::vector<double> values;
    for (const CurvePoint* point : found)
        values.push_back(column.factor * valueAt(*set, *point, column));
    PointValue value = summary(values);
    const CurveTask* task = taskOf(*set, column);
    if (value.repetitions == 1 && task && found.size() == 1)
        if (const PointMetric* metric = found.front()->metric(task->name, column.metric))
            value.error = std::isfinite(metric->standardError) ? column.factor * metric->standardError : 0;
    return value;
}

std::string PointSource::conditions(const std::vector<PointColumn>& columns) const {
    std::vector<const Curves*> sets;
    std::vector<std::string> sentences;
    std::vector<std::string> tasks;
    for (const PointColumn& column : columns) {
        const Curves* set = column.isAverage ? nullptr : curves(column);
        if (!set)
            continue;
        if (const CurveTask* task = taskOf(*set, column))
            tasks.push_back(fmt::format("{} ({} questions, {})", column.title,
                                        grouped(static_cast<std::uint64_t>(task->questions)), column.metric));
        if (std::ranges::find(sets, set) == sets.end())
            sets.push_back(set);
        if (column.metric == "perplexity" || column.metric == "loss" || column.metric == "delta")
            sentences.push_back(fmt::format("{}: {}", column.title, protocolText(set->conditions.scored)));
    }
    for (const Curves* set : sets)
        if (const std::string text = conditionsText(set->conditions);
            !text.empty() && std::ranges::find(sentences, text) == sentences.end())
            sentences.push_back(text);
    if (!tasks.empty())
        sentences.push_back("Tasks: " + join(tasks, ", "));
    std::set<std::uint64_t> seeds;
    for (const Curves* set : sets)
        for (const TablePoints& points : m_wanted)
            for (const CurvePoint* point : find(*set, points))
                if (point->key.seed)
                    seeds.insert(*point->key.seed);
    if (!seeds.empty()) {
        std::vector<std::string> list;
        for (const std::uint64_t seed : seeds)
            list.push_back(std::to_string(seed));
        sentences.push_back(
            list.size() > 6
                ? fmt::format("Random masks: {} repetitions, seeds {} to {}", list.size(), list.front(), list.back())
                : fmt::format("Random masks: {} (seeds {})", counted(list.size(), "repetition"), join(list, ", ")));
    }
    std::string text;
    for (std::string& sentence : sentences) {
        sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
        text += (text.empty() ? "" : " ") + sentence + ".";
    }
    return text;
}

FigureSeries unitLine(const PointSource& source, const PointColumn& column, const std::string& strategy,
                      std::string label) {
    FigureSeries line;
    line.label = std::move(label);
    const Curves* set = source.curves(column);
    const Curve* curve = set ? set->curve(strategy) : nullptr;
    if (!curve)
        return line;
    std::set<double> amounts;
    for (const CurvePoint& point : curve->points)
        if (!point.key.budget.isPercentage && point.key.budget.of == BudgetOf::own)
            amounts.insert(point.key.budget.amount);
    for (const double amount : amounts) {
        const PointValue value = source.value(column, {.strategy = strategy, .budget = {amount}});
        if (value.repetitions == 0)
            continue;
        const bool hasBand = value.repetitions > 1;
        addPoint(line, {.position = amount,
                        .value = value.value,
                        .error = value.error,
                        .low = hasBand ? value.low : notMeasured,
                        .high = hasBand ? value.high : notMeasured,
                        .name = budgetText({amount})});
    }
    return line;
}

} // namespace secateur
