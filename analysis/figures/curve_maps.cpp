#include "analysis/figures/curve_maps.h"

#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/strategies/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// The masks of one budget of a line, without those that the session does not have.
struct BudgetMasks {
    Budget budget;
    double removed = 0; ///< mean number of removed parameters, for sorting
    std::vector<const PruningMask*> masks;
};

struct LineMasks {
    std::string label;
    std::vector<BudgetMasks> budgets; ///< by removed parameters
};

std::vector<LineMasks> masksOfLines(const Session& session, const Curves& curves,
                                    const std::vector<std::string>& strategies) {
    std::vector<LineMasks> lines;
    for (const std::size_t index : namedCurves(curves, strategies)) {
        const Curve& curve = curves.curves[index];
        for (const std::vector<std::size_t>& line : curveLines(curve)) {
            LineMasks own{curveLabel(curve, curve.points[line.front()].key), {}};
            for (const std::vector<std::size_t>& group : repetitionsOf(curve, line)) {
                BudgetMasks budget{curve.points[group.front()].key.budget, 0, {}};
                for (const std::size_t i : group)
                    if (const SessionMask* mask = session.mask(curve.points[i].mask)) {
                        budget.masks.push_back(&mask->record.mask);
                        budget.removed -= static_cast<double>(curve.points[i].parameters);
                    }
                budget.removed /= static_cast<double>(std::max<std::size_t>(budget.masks.size(), 1));
                if (!budget.masks.empty())
                    own.budgets.push_back(std::move(budget));
            }
            std::ranges::stable_sort(own.budgets, {}, &BudgetMasks::removed);
            if (!own.budgets.empty())
                lines.push_back(std::move(own));
        }
    }
    if (lines.empty())
        throw Error("has none of the masks of these curves", session.model.name);
    return lines;
}

CutKind kindOf(const Session& session, const std::vector<LineMasks>& lines, const CurveMapLook& look) {
    if (look.kind)
        return *look.kind;
    std::vector<const PruningMask*> masks;
    for (const LineMasks& line : lines)
        for (const BudgetMasks& budget : line.budgets)
            masks.insert(masks.end(), budget.masks.begin(), budget.masks.end());
    return commonKind(session.model.spec, masks);
}

std::set<std::pair<BudgetOf, bool>> budgetKinds(const std::vector<LineMasks>& lines) {
    std::set<std::pair<BudgetOf, bool>> kinds;
    for (const LineMasks& line : lines)
        for (const BudgetMasks& budget : line.budgets)
            kinds.emplace(budget.budget.of, budget.budget.isPercentage);
    return kinds;
}

/// "budget (params)" and "20%" if all budgets are shares of the same amount; otherwise whole budgets.
std::string budgetLabel(const std::vector<LineMasks>& lines) {
    const auto kinds = budgetKinds(lines);
    const auto [of, isPercentage] = *kinds.begin();
    if (kinds.size() > 1)
        return "budget";
    if (of == BudgetOf::own)
        return isPercentage ? "budget" : "budget (units)";
    const std::string text = budgetText({1, true, of});
    return fmt::format("budget ({})", text.substr(0, text.find(':')));
}

std::string budgetName(const Budget& budget, bool isShort) {
    const std::string text = budgetText(budget);
    return isShort ? text.substr(text.find(':') + 1) : text; // all of it if there is no ':'
}

void setShareColours(Figure& figure, std::string label) {
    figure.colour.label = std::move(label);
    figure.colour.range = AxisRange{0, 1};
    figure.scale = {"viridis", ScaleKind::linear, 0};
}

Matrix sharesOf(const ModelSpec& spec, const LineMasks& line, const CutCounter& counter, CutKind kind) {
    Matrix shares(static_cast<std::size_t>(spec.layerCount()), line.budgets.size());
    for (std::size_t column = 0; column < line.budgets.size(); ++column)
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            const std::vector<const PruningMask*>& masks = line.budgets[column].masks;
            double sum = 0;
            for (const PruningMask* mask : masks)
                sum += counter.share(*mask, layer, kind);
            shares(static_cast<std::size_t>(layer), column) = sum / static_cast<double>(masks.size());
        }
    return shares;
}

std::string withConditions(const Session& session, const Curves& curves, const std::string& what) {
    std::string caption = figureCaption(session.model, what);
    if (!curves.conditions.calibrationDigest.empty())
        caption += fmt::format(" Calibrated on {} ({} tokens).", curves.conditions.calibration.source,
                               grouped(static_cast<std::uint64_t>(curves.conditions.calibration.tokens)));
    return caption;
}

/// The largest budget of those that most lines have.
Budget usualBudget(const std::vector<LineMasks>& lines) {
    Budget best;
    std::pair<std::size_t, double> rank{0, 0};
    for (const LineMasks& line : lines)
        for (const BudgetMasks& own : line.budgets) {
            const auto count = static_cast<std::size_t>(std::ranges::count_if(lines, [&](const LineMasks& other) {
                return std::ranges::find(other.budgets, own.budget, &BudgetMasks::budget) != other.budgets.end();
            }));
            if (std::pair(count, own.budget.amount) > rank) {
                rank = {count, own.budget.amount};
                best = own.budget;
            }
        }
    return best;
}

/// The overlap of two groups of masks: means over all pairs. Of a group with itself, over pairs of different masks; of
/// a single mask with itself, all of it.
struct MeanOverlap {
    double jaccard = std::numeric_limits<double>::quiet_NaN();
    CutOverlap counts;
};

MeanOverlap meanOverlap(const BudgetMasks& a, const BudgetMasks& b, const CutCounter& counter, CutKind kind) {
    const bool isSame = &a == &b && a.masks.size() > 1;
    std::vector<double> indices;
    CutOverlap sum;
    for (std::size_t i = 0; i < a.masks.size(); ++i)
        for (std::size_t j = isSame ? i + 1 : 0; j < b.masks.size(); ++j) {
            const CutOverlap overlap = counter.overlap(*a.masks[i], *b.masks[j], kind);
            indices.push_back(overlap.jaccard());
            sum.both += overlap.both;
            sum.either += overlap.either;
        }
    const auto count = static_cast<double>(indices.size());
    return {finiteMean(indices), {sum.both / count, sum.either / count}};
}

std::string overlapText(const MeanOverlap& overlap) {
    if (std::isnan(overlap.jaccard))
        return {};
    const auto count = [](double number) {
        return number < 1e5 ? fmt::format("{:.0f}", number) : shortCount(number);
    };
    return fmt::format("{:.2f}\n{} of {}", overlap.jaccard, count(overlap.counts.both), count(overlap.counts.either));
}

/// The lines that have a budget, with their masks at it.
std::vector<std::pair<std::string, const BudgetMasks*>> withBudget(const std::vector<LineMasks>& lines,
                                                                   const Budget& budget) {
    std::vector<std::pair<std::string, const BudgetMasks*>> rows;
    for (const LineMasks& line : lines)
        if (const auto own = std::ranges::find(line.budgets, budget, &BudgetMasks::budget); own != line.budgets.end())
            rows.emplace_back(line.label, &*own);
    return rows;
}

} // namespace

Figure removalMap(const Session& session, const Curves& curves, const CurveMapLook& look) {
    const std::vector<LineMasks> lines = masksOfLines(session, curves, look.strategies);
    const CutKind kind = kindOf(session, lines, look);
    const CutCounter counter(session.model);
    const bool isShort = budgetKinds(lines).size() == 1;
    Figure figure;
    figure.kind = FigureKind::panels;
    figure.title = session.model.name;
    figure.x.label = budgetLabel(lines);
    figure.y.label = "layer";
    setShareColours(figure, fmt::format("share of {} removed", cutKindLabel(kind)));
    for (const LineMasks& line : lines) {
        FigurePanel& panel = figure.panels.emplace_back();
        panel.title = line.label;
        panel.cells = sharesOf(session.model.spec, line, counter, kind);
        for (const BudgetMasks& budget : line.budgets)
            panel.columns.push_back(budgetName(budget.budget, isShort));
    }
    figure.caption = withConditions(
        session, curves, fmt::format("Share of the {} of each layer that strategies remove", cutKindLabel(kind)));
    return figure;
}

Figure agreementMap(const Session& session, const Curves& curves, const std::optional<Budget>& budget,
                    const CurveMapLook& look) {
    std::vector<LineMasks> lines = masksOfLines(session, curves, look.strategies);
    const Budget chosen = budget.value_or(usualBudget(lines));
    const std::size_t all = lines.size();
    std::erase_if(lines, [&](LineMasks& line) {
        std::erase_if(line.budgets, [&](const BudgetMasks& own) { return own.budget != chosen; });
        return line.budgets.empty();
    });
    if (lines.size() < 2)
        throw Error(fmt::format("has masks of fewer than two strategies at {}", budgetText(chosen)), session.model.name,
                    "The figure removal_map shows the budgets");
    const auto rows = withBudget(lines, chosen);
    const CutKind kind = kindOf(session, lines, look);
    const CutCounter counter(session.model);
    Figure figure;
    figure.title = fmt::format("{}, budget {}", session.model.name, budgetText(chosen));
    setShareColours(figure, fmt::format("Jaccard index of removed {}", cutKindLabel(kind)));
    figure.x.label = "strategy";
    figure.y.label = "strategy";
    figure.cells = Matrix(rows.size(), rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
        figure.x.names.push_back(rows[row].first);
        for (std::size_t column = 0; column < rows.size(); ++column) {
            const MeanOverlap overlap = meanOverlap(*rows[row].second, *rows[column].second, counter, kind);
            figure.cells(row, column) = overlap.jaccard;
            figure.cellTexts.push_back(overlapText(overlap));
        }
    }
    figure.y.names = figure.x.names;
    if (rows.size() < all)
        figure.note = fmt::format("{} without this budget left out", counted(all - rows.size(), "line"));
    figure.caption = withConditions(session, curves,
                                    fmt::format("Agreement of strategies at the budget {}: Jaccard index of the "
                                                "removed {}, with the counts of those that both and either remove",
                                                budgetText(chosen), cutKindLabel(kind)));
    return figure;
}

} // namespace secateur
