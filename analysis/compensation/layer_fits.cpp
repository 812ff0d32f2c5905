#include "analysis/compensation/layer_fits.h"

#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t sumShare = 2; ///< one of so many parts of the memory budget; the rest is for the streams

std::int64_t bytesOf(const FitSums& sums) {
    return static_cast<std::int64_t>(sums.gram.nbytes() + sums.cross.nbytes());
}

/// The places of some columns in a list that contains them. Both are ascending.
at::Tensor placesIn(const at::Tensor& all, const at::Tensor& columns) {
    return at::searchsorted(all, columns);
}

bool contains(const at::Tensor& all, const at::Tensor& columns) {
    return at::isin(columns, all).all().item<bool>();
}

} // namespace

LayerFits::LayerFits(const Model& model, const Plan& plan, std::span<const TokenSequence> sequences,
                     std::int64_t batchTokens, std::int64_t bytes)
    : m_model(model)
    , m_plan(&plan)
    , m_sumBytes(bytes / sumShare)
    , m_inputs(model.runner(), plan, paddedBatches(model, sequences, batchTokens))
    , m_tokens(tokenParts(m_inputs.batches(), sequences, std::numeric_limits<std::int64_t>::max())) {
    m_inputs.keep(0, model.spec().layerCount() - 1, bytes - m_sumBytes,
                  m_inputs.batches().tokens() * model.spec().hidden * static_cast<std::int64_t>(sizeof(float)));
}

void LayerFits::setPlan(const Plan& plan) {
    const int changed = commonLayers(m_plan->mask(), plan.mask());
    std::erase_if(m_known, [&](const auto& known) { return known.first.first > changed; });
    if (changed < plan.mask().layerCount()) {
        const LayerMask& before = m_plan->mask().layer(changed);
        const LayerMask& after = plan.mask().layer(changed);
        const bool isParallel = m_model.spec().normPlace == NormPlace::parallel;
        // A head's context depends neither on other heads of its layer nor on the output projection.
        if (before.block != after.block || before.attention != after.attention || before.alpha != after.alpha)
            m_known.erase({changed, Projection::output});
        if (before.block != after.block || (!isParallel && !haveEqualAttention(before, after)))
            m_known.erase({changed, Projection::down});
    }
    m_inputs.setPlan(plan);
    m_plan = &plan;
}

FitSums LayerFits::sums(int layer, Projection which, const Progress& progress) {
    const LayerMask& mask = m_plan->mask().layer(layer);
    const at::Tensor columns = keptColumns(m_model.spec(), layer, mask, which);
    auto known = m_known.find({layer, which});
    if (known == m_known.end() || !contains(known->second.columns, columns))
        known = m_known.insert_or_assign({layer, which}, Known{columns, sumsOf(layer, which, mask, progress), 0}).first;
    known->second.lastUse = ++m_clock;
    FitSums found = columns.numel() == known->second.columns.numel()
                        ? known->second.sums
                        : known->second.sums.of(placesIn(known->second.columns, columns));
    shrink();
    return found;
}

FitSums LayerFits::bypassSums(int layer, const Progress& progress) {
    LayerMask mask = m_plan->mask().layer(layer);
    mask.attention = AttentionCut::bypassQk;
    mask.alpha = 1;
    return sumsOf(layer, Projection::output, mask, progress);
}

/// @param mask of the layer
FitSums LayerFits::sumsOf(int layer, Projection which, const LayerMask& mask, const Progress& progress) {
    const ModelSpec& spec = m_model.spec();
    const auto whole = m_model.runner().plan(withWholeSublayer(m_plan->mask(), spec, layer, which), m_plan->type());
    m_inputs.goTo(layer, progress);
    SumParts sums = emptySums(m_model, layer, mask, which, m_inputs.streams().front().device());
    const auto& batches = m_inputs.batches().batches;
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
        progress.check();
        addSums(m_model, *whole, layer, which, mask, m_inputs.streams()[batch], batches[batch], m_tokens[batch], sums);
    }
    return std::move(sums.fitted);
}

/// Drops the sums that were used least recently, until the others fit the budget. Keeps the latest.
void LayerFits::shrink() {
    std::int64_t bytes = 0;
    for (const auto& [key, known] : m_known)
        bytes += bytesOf(known.sums);
    while (bytes > m_sumBytes && m_known.size() > 1) {
        const auto oldest =
            std::ranges::min_element(m_known, {}, [](const auto& known) { return known.second.lastUse; });
        bytes -= bytesOf(oldest->second.sums);
        m_known.erase(oldest);
    }
}

} // namespace secateur
