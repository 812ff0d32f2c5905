#include "analysis/gallery/recipe_commands.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace secateur {

namespace {

bool hasConditions(const Curves& curves, const NeededPoints& needed) {
    const ScoredSource& scored = curves.conditions.scored;
    if (needed.needsText && !scored.digest.empty()) { // encoders without a head have no rules
        const bool isPerWord = scored.rules.protocol == TextProtocol::wordPpl;
        if ((needed.window > 0 && scored.rules.window != needed.window) || isPerWord != needed.isPerWord)
            return false;
        if (needed.scoredTokens > 0 && scored.tokens > needed.scoredTokens)
            return false;
    }
    if (!needed.scored.empty() && scored.source != needed.scored)
        return false;
    return !needed.needsTimes || curves.latency;
}

/// The tasks of curves by their files, in the order of the paths; empty if one is missing or has too few questions.
std::optional<std::vector<std::string>> taskNames(const Curves& curves, const NeededPoints& needed) {
    std::vector<std::string> names;
    for (const std::string& path : needed.tasks) {
        const auto found = std::ranges::find_if(curves.tasks, [&](const CurveTask& task) {
            return task.source == path && (needed.limit == 0 || task.questions <= needed.limit);
        });
        if (found == curves.tasks.end())
            return std::nullopt;
        names.push_back(found->name);
    }
    return names;
}

bool isMeasured(const CurvePoint& point, const NeededPoints& needed, const std::vector<std::string>& tasks) {
    if (!point.error.empty())
        return true;
    if (!point.isChosen())
        return false;
    if (needed.needsText && std::isnan(point.lossNats) && std::isnan(point.pooledDistance))
        return false;
    if (needed.needsTimes && std::isnan(point.tokensPerSecond))
        return false;
    return std::ranges::all_of(tasks, [&](const std::string& task) {
        return std::ranges::find(point.tasks, task, &PointMetric::task) != point.tasks.end();
    });
}

/// The keys of a series' points without recovery. The seeds are those of a sweep without --seed.
std::vector<PointKey> keysOf(const SweepSeries& series, const NeededPoints& needed) {
    std::vector<PointKey> keys;
    const bool isRandom = series.strategy.needsSeed();
    for (int repetition = 0; repetition < (isRandom ? series.repetitions : 1); ++repetition)
        for (const Budget& budget : series.budgets)
            for (const std::string& compensation : needed.compensations) {
                PointKey key{.budget = budget, .compensation = compensation, .repetition = repetition};
                if (isRandom)
                    key.seed = static_cast<std::uint64_t>(repetition);
                keys.push_back(std::move(key));
            }
    return keys;
}

/// Whether a point was recovered by a recipe, whatever options replaced the recipe's own: "amp:steps=50". Another
/// number of epochs is another recovery.
bool isRecoveredBy(const std::string& recovered, const std::string& recipe) {
    constexpr std::string_view epochs = ":epochs=";
    if (recovered != recipe && !recovered.starts_with(recipe + ":"))
        return false;
    return recipe.find(epochs) != std::string::npos || recovered.find(epochs) == std::string::npos;
}

/// Whether curves hold a point with all that is needed. @param recipe of a recovery; empty = none
bool holds(const Curves& curves, const Curve& curve, const PointKey& key, const std::string& recipe,
           const NeededPoints& needed) {
    const auto tasks = hasConditions(curves, needed) ? taskNames(curves, needed) : std::nullopt;
    return tasks && std::ranges::any_of(curve.points, [&](const CurvePoint& point) {
               PointKey own = point.key;
               if (!recipe.empty() && isRecoveredBy(own.recovered, recipe))
                   own.recovered.clear();
               else if (!recipe.empty())
                   return false;
               return own == key && isMeasured(point, needed, *tasks);
           });
}

} // namespace

bool holdsPoints(const Session& session, const NeededPoints& needed) {
    std::vector<std::string> recipes{""};
    if (!needed.recovered.empty())
        recipes.push_back(needed.recovered);
    const auto isHeld = [&](const std::string& strategy, const PointKey& key, const std::string& recipe) {
        return std::ranges::any_of(session.curves, [&](const Curves& curves) {
            const Curve* curve = curves.curve(strategy);
            return curve && holds(curves, *curve, key, recipe, needed);
        });
    };
    for (const SweepSeries& series : needed.series)
        for (const PointKey& key : keysOf(series, needed))
            for (const std::string& recipe : recipes)
                if (!isHeld(series.strategy.resultId(), key, recipe))
                    return false;
    return true;
}

std::size_t pointsOf(std::span<const SweepSeries> series) {
    std::size_t points = 0;
    for (const SweepSeries& one : series)
        points += one.budgets.size() * static_cast<std::size_t>(one.strategy.needsSeed() ? one.repetitions : 1);
    return points;
}

std::vector<AdaptedBudget> pairedBudgets(std::span<const int> budgets, int paperLayers, int layers) {
    const int largest = budgets.empty() ? 0 : *std::ranges::max_element(budgets);
    const bool stand = layers == paperLayers || 2 * largest <= layers;
    std::vector<AdaptedBudget> pairs;
    for (const int budget : budgets) {
        const double share = static_cast<double>(budget) / paperLayers;
        const int ours = stand ? budget : std::max(1, static_cast<int>(std::lround(share * layers)));
        if (std::ranges::find(pairs, ours, &AdaptedBudget::ours) == pairs.end())
            pairs.push_back({budget, ours});
    }
    return pairs;
}

std::vector<int> adaptedBudgets(std::span<const int> budgets, int paperLayers, int layers) {
    std::vector<int> adapted;
    for (const AdaptedBudget& pair : pairedBudgets(budgets, paperLayers, layers))
        adapted.push_back(pair.ours);
    std::ranges::sort(adapted);
    return adapted;
}

std::string budgetList(std::span<const int> budgets) {
    std::string list;
    for (const int budget : budgets)
        list += (list.empty() ? "" : ",") + std::to_string(budget);
    return list;
}

} // namespace secateur
