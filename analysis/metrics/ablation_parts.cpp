#include "analysis/metrics/ablation_parts.h"

#include "analysis/metrics/ablation_metrics.h"
#include "analysis/masks/price.h"

#include <algorithm>
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

bool isLeft(AblatedPart part, const LayerParts& left) {
    switch (part) {
    case AblatedPart::head:
        return left.heads > 0;
    case AblatedPart::attention:
        return left.attention != AttentionKind::none;
    case AblatedPart::mlp:
        return left.mlp;
    case AblatedPart::block:
        return left.block;
    }
    return false;
}

LayerMask cutFrom(LayerMask mask, AblatedPart part) {
    if (part == AblatedPart::attention) {
        mask.attention = AttentionCut::drop;
        mask.alpha = 1;
        mask.heads.assign(mask.heads.size(), true);
    } else if (part == AblatedPart::mlp) {
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

} // namespace

std::vector<AblationPart> partsOf(const ModelSpec& spec, const PruningMask& mask, int layer, std::size_t request,
                                  const MetricRequest& of) {
    if (mask.tiedTo(layer).front() != layer)
        return {};
    const LayerMask& own = mask.layer(layer);
    const LayerParts left = partsLeft(spec.layers.at(static_cast<std::size_t>(layer)), own);
    const AblatedPart part = ablatedPart(of);
    if (!isLeft(part, left))
        return {};
    if (part == AblatedPart::head)
        return headsOf(own, left, request, layer);
    return {{request, layer, 0, cutFrom(own, part)}};
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

} // namespace secateur
