#include "analysis/strategies/loss_steps.h"

#include "analysis/metrics/ablation.h"
#include "analysis/metrics/screened_ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace secateur {

namespace {

/// The metric that removes one unit of this kind at a time.
MetricRequest removalOf(CutUnit unit) {
    return {&*std::ranges::find(ablationMetrics(), std::optional(unit), &MetricInfo::ranks), {}};
}

std::vector<MetricRequest> removalsOf(std::span<const CutUnit> units) {
    std::vector<MetricRequest> requests;
    for (const CutUnit unit : units)
        requests.push_back(removalOf(unit));
    return requests;
}

double roundedLoss(double nats) {
    constexpr double perNat = 1e6;
    return std::round(nats * perNat);
}

/// The costs of a step, in forward passes. Screening predicts all losses of a kind and measures at least a tenth.
struct StepCosts {
    double all = 0;
    double screened = 0;
};

StepCosts stepCosts(double units, double each, double kinds) {
    constexpr double leastShare = 0.1;
    constexpr double leastUnits = 12;
    constexpr double rounds = 2; // of ablations, each of which runs the whole model twice
    const double share = units > 0 ? std::min(1.0, std::max(leastShare, leastUnits * kinds / units)) : 0;
    return {1 + units * each, kinds * (screeningPasses + 2 * rounds) + share * units * each};
}

} // namespace

VariantText variantText(const CalibrationText& text) {
    return {.sequences = text.sequences, .labels = text.labels, .batchTokens = text.batchTokens};
}

std::vector<AblationPart> removableParts(const ModelSpec& spec, const PruningMask& mask, std::span<const CutUnit> units,
                                         const Protection& protection) {
    const std::vector<MetricRequest> requests = removalsOf(units);
    std::vector<AblationPart> all;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        for (std::size_t i = 0; i < requests.size(); ++i)
            for (AblationPart& part : partsOf(spec, mask, layer, i, requests[i]))
                if (!protection.covers(spec, units[i], layer, static_cast<int>(part.column)))
                    all.push_back(std::move(part));
    return all;
}

double stepPasses(double units, double each, double kinds, bool screens) {
    const StepCosts costs = stepCosts(units, each, kinds);
    return screens ? std::min(costs.all, costs.screened) : costs.all;
}

double meanRemovalPasses(const ModelSpec& spec, std::span<const CutUnit> units) {
    const PruningMask dense(spec);
    const AblationCosts costs(spec, dense, {});
    const std::vector<AblationPart> parts = removableParts(spec, dense, units, {});
    double sum = 0;
    for (const AblationPart& part : parts)
        sum += costs.without(part) + costs.lmHead();
    return parts.empty() ? 0 : sum / static_cast<double>(parts.size());
}

LossSteps::LossSteps(const Model& model, const PruningMask& mask, const VariantText& text, LossStepRules rules)
    : m_model(model)
    , m_text(text)
    , m_rules(std::move(rules))
    , m_requests(removalsOf(m_rules.units))
    , m_plan(model.runner().plan(mask, m_rules.type))
    , m_walk(model, *m_plan, m_text) {}

/// Makes the plan of a mask. It shares unchanged layers with the plan before.
void LossSteps::take(const PruningMask& mask) {
    if (mask == m_plan->mask())
        return;
    auto plan = m_model.runner().plan(mask, m_plan->type());
    m_walk.setPlan(*plan);
    m_plan = std::move(plan);
}

double LossSteps::loss(const PruningMask& mask, const Progress& progress) {
    take(mask);
    return meanLoss(m_walk.whole(progress));
}

std::optional<LossStep> LossSteps::next(const PruningMask& mask, double now, const Progress& progress) {
    take(mask);
    const std::vector<AblationPart> parts = removableParts(m_model.spec(), mask, m_rules.units, m_rules.protection);
    const AblationCosts costs(m_model.spec(), mask, m_text.sequences);
    double each = 0;
    for (const AblationPart& part : parts)
        each += (costs.without(part) + costs.lmHead()) / static_cast<double>(parts.size());
    const StepCosts cost =
        stepCosts(static_cast<double>(parts.size()), each, static_cast<double>(m_requests.size()));
    const bool screens = m_rules.screens && cost.screened < cost.all;
    std::vector<double> losses(parts.size(), std::numeric_limits<double>::quiet_NaN());
    if (screens)
        losses = screenedLosses(parts, now, progress);
    if (std::ranges::all_of(losses, [](double loss) { return std::isnan(loss); }))
        losses = measuredLosses(parts, progress);
    std::optional<LossStep> best;
    std::int64_t measured = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (std::isnan(losses[i]))
            continue;
        ++measured;
        if (!best || roundedLoss(losses[i]) < roundedLoss(best->loss))
            best = LossStep{parts[i], m_rules.units[parts[i].request], losses[i]};
    }
    m_measured += measured;
    m_tried += std::ssize(parts);
    return best;
}

/// Number of units of a kind that the mask keeps, including protected ones.
std::size_t LossSteps::left(std::size_t unit) const {
    return removableParts(m_model.spec(), m_plan->mask(), std::span(m_rules.units).subspan(unit, 1), {}).size();
}

/// The loss without each part.
std::vector<double> LossSteps::measuredLosses(const std::vector<AblationPart>& parts, const Progress& progress) {
    const AblationCosts costs(m_model.spec(), m_plan->mask(), m_text.sequences);
    double all = 1; // the streams of the whole model
    for (const AblationPart& part : parts)
        all += costs.without(part) + costs.lmHead();
    std::vector<double> losses;
    double done = 1;
    while (losses.size() < parts.size()) {
        const int layer = parts[losses.size()].layer;
        std::vector<LayerVariant> variants;
        double cost = 0;
        for (std::size_t i = losses.size(); i < parts.size() && parts[i].layer == layer; ++i) {
            variants.push_back({parts[i].without, parts[i].request});
            cost += costs.without(parts[i]) + costs.lmHead();
        }
        const Progress own = progress.part(done / all, (done + cost) / all);
        m_walk.goTo(layer, own);
        for (const VariantWalk::Losses& found :
             m_walk.under(variants, fmt::format("without parts of layer {}", layer), own))
            losses.push_back(meanLoss(found));
        done += cost;
    }
    return losses;
}

/// The loss without each part; NaN where the prediction leaves no doubt that it is not the lowest.
std::vector<double> LossSteps::screenedLosses(const std::vector<AblationPart>& parts, double now,
                                              const Progress& progress) {
    std::vector<MetricRequest> requests;
    std::vector<std::size_t> places(m_requests.size()); // index in `requests`
    for (std::size_t i = 0; i < m_requests.size(); ++i) {
        const auto free = std::ranges::count(parts, i, &AblationPart::request);
        if (free == 0)
            continue;
        places[i] = requests.size();
        requests.push_back(m_requests[i]);
        // Units that must not be removed may be lower than the lowest of the others.
        requests.back().options["exact"] = "100"; // until no unit is in doubt
        requests.back().options["screen"] = std::to_string(left(i) - static_cast<std::size_t>(free) + 1);
    }
    const AblationRun run{*m_plan, m_text.sequences, m_text.labels, m_text.batchTokens, m_text.waitingBytes, {}};
    const std::vector<MetricResult> results = measureAblation(m_model, run, requests, progress);
    std::vector<double> losses;
    for (const AblationPart& part : parts) {
        if (places[part.request] >= results.size() || !results[places[part.request]].isWhole)
            throw Cancelled();
        const MetricResult& result = results[places[part.request]];
        const auto layer = static_cast<std::size_t>(part.layer);
        losses.push_back(result.errorAt(layer, part.column) == 0 ? now + result.values(layer, part.column)
                                                                 : std::numeric_limits<double>::quiet_NaN());
    }
    return losses;
}

} // namespace secateur
