#include "widgets/document/mask_names.h"

#include "analysis/base/text.h"
#include "analysis/metrics/metric.h"

#include <QRegularExpression>
#include <QString>

#include <algorithm>

namespace secateur {

namespace {

constexpr std::size_t mostNamedHeads = 3;
constexpr std::size_t mostBaseName = 24; // characters

std::string option(const MaskProvenance& made, const char* name) {
    const auto found = made.options.find(name);
    return found == made.options.end() ? std::string() : found->second;
}

std::string amountOf(const MaskProvenance& made) {
    if (!made.budget)
        return {};
    return " " + exactly(made.budget->amount) + (made.budget->isPercentage ? " %" : "");
}

/// "gate_norm lowest 8"
std::string strategyTitle(const MaskProvenance& made) {
    std::string title = made.strategy;
    if (const MetricInfo* metric = findMetric(option(made, "metric"))) {
        const bool isReversed = option(made, "reversed") == "true";
        const bool isHighest = (metric->pruneFirst == PruneFirst::high) != isReversed;
        title = std::string(metric->id) + (isHighest ? " highest" : " lowest");
    }
    title += amountOf(made);
    if (option(made, "per_layer") == "true")
        title += " per layer";
    if (!option(made, "filter").empty())
        title += ", filtered";
    if (made.seed)
        title += ", seed " + std::to_string(*made.seed);
    return title;
}

struct Cuts {
    std::vector<std::string> heads; ///< names
    std::size_t blocks = 0;
    std::size_t attention = 0;
    std::size_t bypasses = 0;
    std::size_t mlps = 0;
    std::size_t neurons = 0;
};

Cuts cutsIn(const PruningMask& mask) {
    Cuts cuts;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        if (!layer.block) {
            ++cuts.blocks;
            continue;
        }
        const bool isDropped = layer.attention == AttentionCut::drop;
        cuts.attention += isDropped ? 1 : 0;
        cuts.bypasses += layer.attention == AttentionCut::bypassQk ? 1 : 0;
        cuts.mlps += layer.mlp ? 0 : 1;
        for (std::size_t head = 0; !isDropped && head < layer.heads.size(); ++head)
            if (!layer.heads[head])
                cuts.heads.push_back(headName(index, static_cast<int>(head)));
        if (layer.mlp)
            cuts.neurons += static_cast<std::size_t>(std::ranges::count(layer.neurons, false));
    }
    return cuts;
}

/// "L0.H1, L2.H3", "12 heads, 1 MLP"
std::string unitsTitle(const PruningMask& mask) {
    const Cuts cuts = cutsIn(mask);
    std::vector<std::string> parts;
    const auto add = [&parts](std::size_t count, const char* thing) {
        if (count > 0)
            parts.push_back(counted(count, thing));
    };
    if (cuts.heads.size() <= mostNamedHeads)
        parts = cuts.heads;
    else
        add(cuts.heads.size(), "head");
    add(cuts.neurons, "neuron");
    add(cuts.attention, "attention layer");
    add(cuts.mlps, "MLP");
    add(cuts.blocks, "block");
    if (cuts.bypasses > 0)
        parts.push_back(std::to_string(cuts.bypasses) + (cuts.bypasses == 1 ? " bypass" : " bypasses"));
    return join(parts, ", ");
}

} // namespace

std::string maskTitle(const MaskRecord& record) {
    if (record.mask.keepsAll())
        return "mask";
    if (!record.provenance || record.provenance->strategy.empty())
        return unitsTitle(record.mask);
    const std::string base = option(*record.provenance, "base");
    if (base.empty())
        return strategyTitle(*record.provenance);
    const bool isShort = base.size() <= mostBaseName && base.find(" + ") == std::string::npos;
    return isShort ? base + " + " + strategyTitle(*record.provenance) : unitsTitle(record.mask);
}

bool isTitle(const std::string& name, const MaskRecord& record) {
    static const QRegularExpression suffix("^( copy)?( \\d+| \\(\\d+\\))?$");
    for (const std::string& title : {maskTitle(record), std::string("mask")})
        if (name.starts_with(title) && suffix.match(QString::fromStdString(name.substr(title.size()))).hasMatch())
            return true;
    return false;
}

void adoptNames(Session& session, const std::vector<NamedMask>& masks, const std::vector<std::string>& digests) {
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const std::string& own = digests.at(i);
        const auto isListed = [&](const std::string& name) {
            return std::ranges::find(masks, name, &NamedMask::name) != masks.end();
        };
        std::erase_if(session.masks,
                      [&](const SessionMask& other) { return other.digest == own && !isListed(other.name); });
        for (Evaluation& evaluation : session.evaluations)
            if (evaluation.mask.digest == own && own != "dense")
                evaluation.mask.name = masks[i].name;
    }
}

std::string shownName(const EvaluatedMask& mask, const std::vector<NamedMask>& masks,
                      const std::vector<std::string>& digests) {
    const auto found = std::ranges::find(digests, mask.digest);
    return found == digests.end() ? mask.name : masks.at(static_cast<std::size_t>(found - digests.begin())).name;
}

} // namespace secateur
