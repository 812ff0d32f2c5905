#include "analysis/metrics/ablation_parts.h"

#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

constexpr const char* errorName = "error";

std::vector<AblationPart> headsOf(const LayerMask& mask, const LayerParts& left, std::size_t request, int layer) {
    std::vector<AblationPart> parts;
    for (std::size_t head = 0; left.heads > 0 && head < mask.heads.size(); ++head) {
        if (!mask.heads[head])
            continue;
        LayerMask without = mask;
        without.heads[head] = false;
        parts.push_back({request, layer, head, std::move(without)});
    }
    return parts;
}

bool isLeft(CutUnit unit, const LayerParts& left) {
    switch (unit) {
    case CutUnit::head:
        return left.heads > 0;
    case CutUnit::attention:
        return left.attention != AttentionKind::none;
    case CutUnit::mlp:
        return left.mlp;
    case CutUnit::block:
        return left.block;
    default:
        return false;
    }
}

LayerMask cutFrom(LayerMask mask, CutUnit unit) {
    if (unit == CutUnit::attention) {
        mask.attention = AttentionCut::drop;
        mask.alpha = 1;
        mask.heads.assign(mask.heads.size(), true);
    } else if (unit == CutUnit::mlp) {
        mask.mlp = false;
        mask.neurons.assign(mask.neurons.size(), true);
    } else {
        mask.block = false;
    }
    return mask;
}

bool isValue(double value) {
    return !std::isnan(value);
}

// --- the table -------------------------------------------------------------------------------------------------------

constexpr std::array ablationOptions{
    OptionInfo{"of", "text", "loss",
               "loss, or accuracy: the decrease of a task's accuracy, which only the verb `ablate` measures"},
    OptionInfo{"screen", "integer", "0",
               "find the N lowest units: values are predicted from gradients, and exact only where it is in doubt "
               "whether a unit is one of the N; 0 = all values exact"},
    OptionInfo{"exact", "integer", "10",
               "with screen: limit for exact values in per cent of the cost of all of them; 100 = until no unit is in "
               "doubt"}};

void checkAblationOptions(const MetricRequest& request) {
    const std::string id(request.info->id);
    const std::string of = request.option("of");
    if (of != "loss" && of != "accuracy")
        throw UsageError(fmt::format("of={} must be one of loss, accuracy", of), id);
    const int lowest = request.whole("screen");
    if (lowest < 0)
        throw UsageError(fmt::format("screen={} should be 0 or more", lowest), id);
    if (const int exact = request.whole("exact"); exact < 1 || exact > 100)
        throw UsageError(fmt::format("exact={} should be from 1 to 100", exact), id);
    if (lowest > 0 && of == "accuracy")
        throw UsageError("a decrease of accuracy cannot be predicted: screen goes with the loss only", id);
}

MetricInfo ablationRow(std::string_view id, std::string_view title, std::string_view summary, Scope scope,
                       CutUnit unit) {
    return {id,
            title,
            summary,
            "L(M ∖ u) − L(M)",
            "nats/token",
            "Michel et al. and BOS-sink, which remove single heads",
            scope,
            Needs::ablation,
            PruneFirst::low,
            unit,
            ablationOptions,
            checkAblationOptions,
            AblationMetric{},
            {},
            true}; // slow: one evaluation for each unit
}

MetricInfo ofAccuracy(std::string_view id, std::string_view title, std::string_view summary, Scope scope,
                      CutUnit unit) {
    MetricInfo row = ablationRow(id, title, summary, scope, unit);
    row.formula = "acc(M) − acc(M ∖ u)";
    row.unit = {};
    return row;
}

const std::array accuracyTable{
    ofAccuracy("ablation_head", "accuracy lost without the head",
               "Decrease of a task's accuracy when the head alone is removed", Scope::head, CutUnit::head),
    ofAccuracy("ablation_attention", "accuracy lost without the attention",
               "Decrease of a task's accuracy when the attention sublayer alone is removed", Scope::layer,
               CutUnit::attention),
    ofAccuracy("ablation_mlp", "accuracy lost without the MLP",
               "Decrease of a task's accuracy when the MLP alone is removed", Scope::layer, CutUnit::mlp),
    ofAccuracy("ablation_block", "accuracy lost without the block",
               "Decrease of a task's accuracy when the block alone is removed", Scope::layer, CutUnit::block),
};

MetricInfo ofLoss(std::string_view title, std::string_view summary, const MetricInfo& accuracy) {
    MetricInfo row = ablationRow(accuracy.id, title, summary, accuracy.scope, *accuracy.ranks);
    row.computation = AblationMetric{&accuracy};
    return row;
}

const std::array ablationTable{
    ofLoss("loss increase without the head", "Increase of the loss when the head alone is removed", accuracyTable[0]),
    ofLoss("loss increase without the attention", "Increase of the loss when the attention sublayer alone is removed",
           accuracyTable[1]),
    ofLoss("loss increase without the MLP", "Increase of the loss when the MLP alone is removed", accuracyTable[2]),
    ofLoss("loss increase without the block", "Increase of the loss when the block alone is removed", accuracyTable[3]),
};

} // namespace

std::span<const MetricInfo> ablationMetrics() {
    return ablationTable;
}

bool isOfAccuracy(const MetricRequest& request) {
    return request.option("of") == "accuracy";
}

bool isScreened(const MetricRequest& request) {
    return request.option("screen") != "0";
}

double exactShare(const MetricRequest& request) {
    return isScreened(request) ? request.whole("exact") / 100.0 : 1;
}

std::vector<AblationPart> partsOf(const ModelSpec& spec, const PruningMask& mask, int layer, std::size_t request,
                                  const MetricRequest& of) {
    if (mask.tiedTo(layer).front() != layer)
        return {};
    const LayerMask& own = mask.layer(layer);
    const LayerParts left = partsLeft(spec.layers.at(static_cast<std::size_t>(layer)), own);
    const CutUnit unit = of.info->ranks.value();
    if (!isLeft(unit, left))
        return {};
    if (unit == CutUnit::head)
        return headsOf(own, left, request, layer);
    return {{request, layer, 0, cutFrom(own, unit)}};
}

AblationTable::AblationTable(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                             std::span<const MetricResult> known)
    : m_spec(spec)
    , m_mask(mask) {
    for (const MetricRequest& request : requests) {
        MetricResult& result = m_results.emplace_back();
        result.request = request;
        result.values = Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
        result.features.push_back({errorName, result.values});
        for (const MetricResult& other : known)
            if (other.request.resultId() == request.resultId() && other.features.size() == 1) {
                result.values = other.values;
                result.features = other.features;
                result.seconds = other.seconds;
            }
    }
}

std::vector<AblationPart> AblationTable::missing(int layer, std::size_t request) const {
    std::vector<AblationPart> parts = partsOf(m_spec, m_mask, layer, request, m_results[request].request);
    const std::span<const double> values = row(request, layer);
    std::erase_if(parts, [&](const AblationPart& part) { return isValue(values[part.column]); });
    return parts;
}

bool AblationTable::isComplete() const {
    for (std::size_t request = 0; request < m_results.size(); ++request)
        for (int layer = 0; layer < m_spec.layerCount(); ++layer)
            if (!missing(layer, request).empty())
                return false;
    return true;
}

bool AblationTable::isEmpty() const {
    return std::ranges::none_of(
        m_results, [](const MetricResult& result) { return std::ranges::any_of(result.values.values(), isValue); });
}

void AblationTable::set(const AblationPart& part, const AblationEffect& effect) {
    MetricResult& result = m_results[part.request];
    for (const int layer : m_mask.tiedTo(part.layer)) {
        result.values(static_cast<std::size_t>(layer), part.column) = effect.value;
        result.features.front().values(static_cast<std::size_t>(layer), part.column) = effect.error;
    }
}

AblationCosts::AblationCosts(const ModelSpec& spec, const PruningMask& mask, std::span<const TokenSequence> sequences)
    : m_spec(spec)
    , m_mask(mask)
    , m_above(spec.layers.size() + 1, 0) {
    for (const TokenSequence& sequence : sequences)
        m_positions = std::max(m_positions, static_cast<int>(sequence.ids.size()));
    for (int layer = spec.layerCount() - 1; layer >= 0; --layer)
        m_above[static_cast<std::size_t>(layer)] =
            m_above[static_cast<std::size_t>(layer) + 1] + layerOperations(spec, layer, mask.layer(layer), m_positions);
}

double AblationCosts::lmHead() const {
    return m_spec.family == Family::decoder ? lmHeadOperations(m_spec) / m_above.front() : 0;
}

double AblationCosts::without(const AblationPart& part) const {
    const auto layer = static_cast<std::size_t>(part.layer);
    if (m_mask.tiedTo(part.layer).size() > 1)
        return m_above[layer] / m_above.front();
    LayerParts mlp = partsLeft(m_spec.layers[layer], part.without);
    mlp.attention = AttentionKind::none;
    const double own = mlp.mlp ? layerOperations(m_spec, part.layer, mlp, m_positions) : 0;
    return (own + m_above[layer + 1]) / m_above.front();
}

} // namespace secateur
