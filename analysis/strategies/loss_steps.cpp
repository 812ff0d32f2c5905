#include "analysis/strategies/loss_steps.h"

#include "analysis/metrics/ablation.h"

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

double stepPasses(double units, double each, bool screens) {
    constexpr double leastMeasured = 12;
    constexpr double shareInDoubt = 0.06;
    return 1 + (screens ? std::min(units, leastMeasured + shareInDoubt * units) : units) * each;
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
    , m_walk(model, *m_plan, m_text) {
    m_walk.keepInputs(0, model.spec().layerCount() - 1, m_rules.streamBytes);
}

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
    const std::vector<double> losses =
        m_rules.screens && !m_rises.isEmpty() ? screenedLosses(parts, now, progress) : measuredLosses(parts, progress);
    std::optional<LossStep> best;
    std::vector<double> rises;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        rises.push_back(losses[i] - now);
        if (std::isnan(losses[i]))
            continue;
        ++m_measured;
        if (!best || roundedLoss(losses[i]) < roundedLoss(best->loss))
            best = LossStep{parts[i], m_rules.units[parts[i].request], losses[i]};
    }
    m_tried += std::ssize(parts);
    if (best) {
        m_rises.remember(parts, rises);
        m_rises.addCut(best->part);
    }
    return best;
}

/// The loss without each part.
std::vector<double> LossSteps::measuredLosses(std::span<const AblationPart> parts, const Progress& progress) {
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
std::vector<double> LossSteps::screenedLosses(std::span<const AblationPart> parts, double now,
                                              const Progress& progress) {
    const std::vector<PredictedRise> predicted = m_rises.predictions(parts);
    std::vector<double> losses(parts.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<double> rises = losses;
    double done = 0;
    for (std::vector<std::size_t> next = doubtfulRises(predicted, rises); !next.empty();
         next = doubtfulRises(predicted, rises)) {
        std::vector<AblationPart> wanted;
        for (const std::size_t i : next)
            wanted.push_back(parts[i]);
        const double end = (done + 1) / 2; // the number of rounds is not known
        const std::vector<double> found = measuredLosses(wanted, progress.part(done, end));
        for (std::size_t i = 0; i < next.size(); ++i) {
            losses[next[i]] = found[i];
            rises[next[i]] = found[i] - now;
        }
        done = end;
    }
    return losses;
}

} // namespace secateur
