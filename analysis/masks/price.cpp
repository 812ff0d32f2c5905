#include "analysis/masks/price.h"

#include "analysis/base/text.h"
#include "analysis/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

AttentionKind keptAttention(const LayerSpec& layer, const LayerMask& mask) {
    if (!mask.block || mask.attention == AttentionCut::drop)
        return AttentionKind::none;
    const bool bypassed = mask.attention == AttentionCut::bypassQk;
    const double own = layer.attention == AttentionKind::valueOnly ? layer.alpha : 1;
    if (own == 0 || (bypassed && mask.alpha == 0))
        return AttentionKind::none;
    return bypassed && layer.attention == AttentionKind::full ? AttentionKind::valueOnly : layer.attention;
}

double attentionOperations(const ModelSpec& spec, const LayerSpec& layer, const LayerParts& parts, int positions) {
    if (parts.attention == AttentionKind::none)
        return 0;
    const double hidden = spec.hidden;
    if (parts.attention == AttentionKind::linear)
        return 2 * hidden * hidden;
    const double heads = 1.0 * parts.heads * layer.headDim;
    const double groups = 1.0 * parts.kvHeads * layer.headDim;
    if (parts.attention == AttentionKind::valueOnly)
        return 2 * hidden * (groups + heads);
    // Mean number of positions that a token sees, including itself. It is about half of the sequence, or less with a
    // window.
    const double length = positions;
    const double window = layer.window > 0 ? std::min<double>(layer.window, length) : length;
    const double visible = window - window * (window - 1) / (2 * length);
    return 2 * hidden * (2 * heads + 2 * groups) + 4 * heads * visible;
}

/// For each layer, the operations from that layer up to the LM head: [layers + 1]. The last element is the LM head
/// alone.
std::vector<double> operationsFrom(const ModelSpec& spec, const PruningMask& mask, int positions) {
    std::vector<double> sums{lmHeadOperations(spec)};
    for (int layer = spec.layerCount() - 1; layer >= 0; --layer)
        sums.push_back(sums.back() + layerOperations(spec, layer, mask.layer(layer), positions));
    std::ranges::reverse(sums);
    return sums;
}

/// Parts of a layer's weights. Each part has one rule for how much of it a mask keeps. "By head" and "by KV head" mean
/// the share of the kept heads.
enum class PricedPart {
    query,      ///< by head: rows of q and its bias
    key,        ///< by KV head
    value,      ///< by KV head
    output,     ///< by head: columns of o; the whole matrix of a linear attention
    outputBias, ///< kept with the sublayer, even if no head is kept
    headNorms,
    attentionNorm,
    attentionPostNorm,
    neurons, ///< by neuron: rows of gate and up with their biases, and columns of down
    downBias,
    mlpNorm,
    mlpPostNorm,
};

struct Size {
    std::int64_t elements = 0;
    double bytes = 0;

    Size& operator+=(const Size& other) {
        elements += other.elements;
        bytes += other.bytes;
        return *this;
    }
};

class LayerSizes {
public:
    Size& operator[](PricedPart part) { return m_sizes.at(static_cast<std::size_t>(part)); }
    const Size& operator[](PricedPart part) const { return m_sizes.at(static_cast<std::size_t>(part)); }

private:
    std::array<Size, static_cast<std::size_t>(PricedPart::mlpPostNorm) + 1> m_sizes;
};

struct PartOfWeight {
    WeightName which;
    PricedPart part;
};

constexpr std::array partsOfWeights{
    PartOfWeight{WeightName::query, PricedPart::query},
    PartOfWeight{WeightName::queryBias, PricedPart::query},
    PartOfWeight{WeightName::key, PricedPart::key},
    PartOfWeight{WeightName::keyBias, PricedPart::key},
    PartOfWeight{WeightName::value, PricedPart::value},
    PartOfWeight{WeightName::valueBias, PricedPart::value},
    PartOfWeight{WeightName::output, PricedPart::output},
    PartOfWeight{WeightName::outputBias, PricedPart::outputBias},
    PartOfWeight{WeightName::queryNorm, PricedPart::headNorms},
    PartOfWeight{WeightName::keyNorm, PricedPart::headNorms},
    PartOfWeight{WeightName::attentionNorm, PricedPart::attentionNorm},
    PartOfWeight{WeightName::attentionNormBias, PricedPart::attentionNorm},
    PartOfWeight{WeightName::attentionPostNorm, PricedPart::attentionPostNorm},
    PartOfWeight{WeightName::attentionPostNormBias, PricedPart::attentionPostNorm},
    PartOfWeight{WeightName::gate, PricedPart::neurons},
    PartOfWeight{WeightName::gateBias, PricedPart::neurons},
    PartOfWeight{WeightName::up, PricedPart::neurons},
    PartOfWeight{WeightName::upBias, PricedPart::neurons},
    PartOfWeight{WeightName::down, PricedPart::neurons},
    PartOfWeight{WeightName::downBias, PricedPart::downBias},
    PartOfWeight{WeightName::mlpNorm, PricedPart::mlpNorm},
    PartOfWeight{WeightName::mlpNormBias, PricedPart::mlpNorm},
    PartOfWeight{WeightName::mlpPostNorm, PricedPart::mlpPostNorm},
    PartOfWeight{WeightName::mlpPostNormBias, PricedPart::mlpPostNorm},
};

std::int64_t elementsOf(const ModelSpec& spec, int layer, WeightName which) {
    if (needOf(spec, layer, which) == Need::absent)
        return 0;
    std::int64_t elements = 1;
    for (const std::int64_t extent : expectedShape(spec, layer, which))
        elements *= extent;
    return elements;
}

/// @param averageBytes bytes per number in weights whose stored size is not known
LayerSizes sizesOf(const ModelSpec& spec, int layer, const StoredBytes& storedBytes, double averageBytes) {
    LayerSizes sizes;
    for (const PartOfWeight& item : partsOfWeights) {
        const std::int64_t elements = elementsOf(spec, layer, item.which);
        const std::int64_t stored = elements > 0 && storedBytes ? storedBytes(layer, item.which) : 0;
        sizes[item.part] +=
            {elements, stored > 0 ? static_cast<double>(stored) : static_cast<double>(elements) * averageBytes};
    }
    return sizes;
}

Size shareOf(const Size& whole, int kept, int all) {
    if (kept == 0)
        return {};
    return {whole.elements * kept / all, whole.bytes * kept / all};
}

struct WeightsLeft {
    Size all;
    std::int64_t norms = 0; ///< elements of norms among them
};

/// The weights of a layer that a mask keeps, by the rules in the comment of PriceList.
WeightsLeft weightsLeft(const LayerSizes& sizes, const LayerParts& parts, const LayerSpec& layer, NormPlace place) {
    if (!parts.block)
        return {};
    const bool linear = parts.attention == AttentionKind::linear;
    const bool scores = parts.attention == AttentionKind::full && parts.heads > 0;
    const auto hasPart = [&](PricedPart part) { return sizes[part].elements > 0; };
    const bool hasAttention =
        linear || parts.heads > 0 || (parts.attention != AttentionKind::none && hasPart(PricedPart::outputBias));
    const bool hasMlp = parts.neurons > 0 || (parts.mlp && hasPart(PricedPart::downBias));
    const bool normsSum = place == NormPlace::after;
    WeightsLeft kept;
    Size& left = kept.all;
    const auto keep = [&](PricedPart part, bool condition) {
        if (condition)
            left += sizes[part];
    };
    const auto keepNorm = [&](PricedPart part, bool condition) {
        keep(part, condition);
        kept.norms += condition ? sizes[part].elements : 0;
    };
    left += shareOf(sizes[PricedPart::query], scores ? parts.heads : 0, layer.heads);
    left += shareOf(sizes[PricedPart::key], scores ? parts.kvHeads : 0, layer.kvHeads);
    left += shareOf(sizes[PricedPart::value], parts.kvHeads, layer.kvHeads);
    left += linear ? sizes[PricedPart::output] : shareOf(sizes[PricedPart::output], parts.heads, layer.heads);
    keep(PricedPart::outputBias, hasAttention);
    keepNorm(PricedPart::headNorms, scores);
    keepNorm(PricedPart::attentionNorm, hasAttention || (place == NormPlace::parallel && hasMlp));
    keepNorm(PricedPart::attentionPostNorm, normsSum || hasAttention);
    left += shareOf(sizes[PricedPart::neurons], parts.neurons, layer.ffn);
    keep(PricedPart::downBias, hasMlp);
    keepNorm(PricedPart::mlpNorm, hasMlp);
    keepNorm(PricedPart::mlpPostNorm, normsSum || hasMlp);
    return kept;
}

/// Units and weights that a mask keeps.
struct Inventory {
    int heads = 0;
    int kvHeads = 0;
    std::int64_t neurons = 0;
    int attention = 0;
    int mlps = 0;
    int blocks = 0;
    double kvBytes = 0;
    double windowedKvBytes = 0;
    double operations = 0;
    Size weights;           ///< weights of all layers
    std::int64_t norms = 0; ///< elements of norms among them
};

void findHalfCutGroups(Price& price, const LayerSpec& layer, const LayerMask& mask, int index) {
    const int perGroup = layer.heads / layer.kvHeads;
    for (int group = 0; group < layer.kvHeads; ++group) {
        int kept = 0;
        for (int head = group * perGroup; head < (group + 1) * perGroup; ++head)
            kept += mask.heads[static_cast<std::size_t>(head)] ? 1 : 0;
        if (kept > 0 && kept < perGroup)
            price.halfCutGroups.push_back({index, group});
    }
}

double share(double left, double all) {
    return all > 0 ? left / all : 1;
}

} // namespace

LayerParts partsLeft(const LayerSpec& layer, const LayerMask& mask) {
    LayerParts parts;
    parts.block = mask.block;
    parts.attention = keptAttention(layer, mask);
    parts.mlp = mask.block && mask.mlp && layer.ffn > 0;
    parts.neurons = mask.keptNeurons();
    if (parts.attention == AttentionKind::none || parts.attention == AttentionKind::linear)
        return parts;
    int last = -1;
    for (int head = 0; head < layer.heads; ++head) {
        if (!mask.heads[static_cast<std::size_t>(head)])
            continue;
        ++parts.heads;
        if (const int group = layer.kvGroup(head); group != last) {
            last = group;
            ++parts.kvHeads;
        }
    }
    return parts;
}

double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions) {
    const LayerSpec& own = spec.layers.at(static_cast<std::size_t>(layer));
    const double mlp = (spec.gatedMlp ? 6.0 : 4.0) * spec.hidden * parts.neurons;
    return mlp + attentionOperations(spec, own, parts, positions);
}

double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions) {
    return layerOperations(spec, layer, partsLeft(spec.layers.at(static_cast<std::size_t>(layer)), mask), positions);
}

double lmHeadOperations(const ModelSpec& spec) {
    return 2.0 * spec.hidden * spec.vocab;
}

std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions) {
    const double dense = operationsFrom(spec, PruningMask(spec), positions).front();
    std::vector<double> shares = operationsFrom(spec, mask, positions);
    for (double& share : shares)
        share /= dense;
    return shares;
}

struct PriceList::Tariff {
    ModelSpec spec;
    std::string structure;
    PriceTerms terms;
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;
    std::vector<LayerSizes> sizes; ///< sizes of each layer's weights
    std::vector<bool> isFirst;     ///< for each layer, whether no earlier layer has the same weights
    Inventory all;

    void count(Inventory& inventory, const LayerParts& parts, int index) const;
    Inventory countAll() const;
};

void PriceList::Tariff::count(Inventory& inventory, const LayerParts& parts, int index) const {
    const auto at = static_cast<std::size_t>(index);
    const LayerSpec& layer = spec.layers[at];
    inventory.heads += parts.heads;
    inventory.kvHeads += parts.kvHeads;
    inventory.neurons += parts.neurons;
    inventory.attention += parts.attention != AttentionKind::none ? 1 : 0;
    inventory.mlps += parts.mlp ? 1 : 0;
    inventory.blocks += parts.block ? 1 : 0;
    inventory.operations += layerOperations(spec, index, parts, terms.positions);
    if (isFirst[at]) {
        const WeightsLeft kept = weightsLeft(sizes[at], parts, layer, spec.normPlace);
        inventory.weights += kept.all;
        inventory.norms += kept.norms;
    }
    if (spec.family != Family::decoder || parts.attention != AttentionKind::full)
        return;
    const double kvBytes = 2.0 * parts.kvHeads * layer.headDim * terms.cacheElementBytes; // keys and values
    inventory.kvBytes += kvBytes;
    inventory.windowedKvBytes += layer.window > 0 ? kvBytes : 0;
}

Inventory PriceList::Tariff::countAll() const {
    const PruningMask dense(spec);
    Inventory inventory;
    for (int index = 0; index < spec.layerCount(); ++index)
        count(inventory, partsLeft(spec.layers[static_cast<std::size_t>(index)], dense.layer(index)), index);
    return inventory;
}

PriceList::PriceList(const ModelCard& card, const PriceTerms& terms)
    : PriceList(card, StoredBytes(), terms) {}

PriceList::PriceList(const ModelCard& card, const StoredBytes& storedBytes, const PriceTerms& terms) {
    Tariff tariff{card.spec, card.spec.structure(), terms, card.parameters, card.bytes, {}, {}, {}};
    const double average =
        card.parameters > 0 ? static_cast<double>(card.bytes) / static_cast<double>(card.parameters) : 0;
    const PruningMask dense(card.spec);
    for (int layer = 0; layer < card.spec.layerCount(); ++layer) {
        tariff.sizes.push_back(sizesOf(card.spec, layer, storedBytes, average));
        tariff.isFirst.push_back(dense.tiedTo(layer).front() == layer);
    }
    tariff.all = tariff.countAll();
    m_tariff = std::make_shared<const Tariff>(std::move(tariff));
}

const ModelSpec& PriceList::spec() const {
    return m_tariff->spec;
}

std::int64_t PriceList::layerWeights() const {
    return m_tariff->all.weights.elements;
}

Price PriceList::price(const PruningMask& mask) const {
    const ModelSpec& spec = m_tariff->spec;
    if (mask.structure() != m_tariff->structure || mask.architecture() != spec.architecture)
        mask.checkFits(spec);
    Price price;
    Inventory left;
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const LayerParts parts = partsLeft(layer, mask.layer(index));
        const double windowed = left.windowedKvBytes;
        m_tariff->count(left, parts, index);
        const bool isBypassed = mask.layer(index).attention == AttentionCut::bypassQk;
        price.bypassed += isBypassed && parts.attention == AttentionKind::valueOnly ? 1 : 0;
        if (left.windowedKvBytes > windowed)
            price.windowedLayers.push_back(index);
        if (parts.heads > 0 && parts.heads < layer.heads)
            findHalfCutGroups(price, layer, mask.layer(index), index);
    }
    const Inventory& all = m_tariff->all;
    price.heads = {all.heads, left.heads};
    price.kvHeads = {all.kvHeads, left.kvHeads};
    price.neurons = {all.neurons, left.neurons};
    price.attention = {all.attention, left.attention};
    price.mlps = {all.mlps, left.mlps};
    price.blocks = {all.blocks, left.blocks};
    price.parameters = {m_tariff->parameters, m_tariff->parameters - (all.weights.elements - left.weights.elements)};
    price.layerParameters = {all.weights.elements - all.norms, left.weights.elements - left.norms};
    price.bytes = {m_tariff->bytes, m_tariff->bytes - std::llround(all.weights.bytes - left.weights.bytes)};
    price.kvBytesPerToken = {all.kvBytes, left.kvBytes};
    price.windowedKvBytesPerToken = {all.windowedKvBytes, left.windowedKvBytes};
    const double lmHead = spec.family == Family::decoder ? lmHeadOperations(spec) : 0;
    price.operationsPerToken = {all.operations + lmHead, left.operations + lmHead};
    return price;
}

double Price::parameterShare() const {
    return share(static_cast<double>(parameters.left), static_cast<double>(parameters.all));
}

double Price::operationShare() const {
    return share(operationsPerToken.left, operationsPerToken.all);
}

std::string sentence(const HalfCutGroup& group, const ModelSpec& spec, const PruningMask& mask) {
    const LayerSpec& layer = spec.layers.at(static_cast<std::size_t>(group.layer));
    std::vector<std::string> kept;
    for (int head = 0; head < layer.heads; ++head)
        if (layer.kvGroup(head) == group.group && mask.layer(group.layer).heads.at(static_cast<std::size_t>(head)))
            kept.push_back(std::to_string(head));
    return fmt::format("L{}: group {} still serves head{} {}", group.layer, group.group, kept.size() == 1 ? "" : "s",
                       join(kept, ", "));
}

} // namespace secateur
