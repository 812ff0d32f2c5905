#include "analysis/metrics/ablation_walk.h"

#include <fmt/format.h>

namespace secateur {

AblationEffect riseOf(const std::vector<WindowLoss>& run, const std::vector<WindowLoss>& reference) {
    const LossDifference rise =
        pairedDifference(perplexityOf(PerplexityRules(), run, {}), perplexityOf(PerplexityRules(), reference, {}));
    return {rise.nats, rise.standardError};
}

AblationWalk::AblationWalk(const Model& model, const AblationRun& run)
    : m_walk(model, run.plan, {run.sequences, run.labels, run.batchTokens, run.waitingBytes}) {}

void AblationWalk::begin(const Progress& progress) {
    m_dense = m_walk.whole(progress);
}

void AblationWalk::goTo(int layer, const Progress& progress) {
    m_walk.goTo(layer, progress);
    m_layer = layer;
}

std::vector<AblationEffect> AblationWalk::without(const std::vector<AblationPart>& parts, const Progress& progress) {
    std::vector<LayerVariant> variants;
    for (const AblationPart& part : parts)
        variants.push_back({part.without, part.request});
    std::vector<AblationEffect> effects;
    for (const VariantWalk::Losses& losses :
         m_walk.under(variants, fmt::format("without parts of layer {}", m_layer), progress))
        effects.push_back(riseOf(losses, m_dense));
    return effects;
}

} // namespace secateur
