#include "analysis/compensation/layer_fits.h"

#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace secateur {

namespace {

// Shares of the memory budget. The rest is for the streams of both models.
constexpr std::int64_t sumShare = 3;
constexpr std::int64_t targetShare = 3;
constexpr std::int64_t streamShare = 6;

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
    , m_dense(model.runner().plan(PruningMask(model.spec()), plan.type()))
    , m_sumBytes(bytes / sumShare)
    , m_targetBytes(bytes / targetShare)
    , m_inputs(model.runner(), plan, paddedBatches(model, sequences, batchTokens))
    , m_denseInputs(model.runner(), *m_dense, m_inputs.batches())
    , m_tokens(tokenParts(m_inputs.batches(), sequences, std::numeric_limits<std::int64_t>::max())) {
    const int last = model.spec().layerCount() - 1;
    const std::int64_t stream =
        m_inputs.batches().tokens() * model.spec().hidden * static_cast<std::int64_t>(sizeof(float));
    m_inputs.keep(0, last, bytes / streamShare, stream);
    m_denseInputs.keep(0, last, bytes / streamShare, stream);
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
    const at::Tensor columns = keptColumns(m_model.spec(), layer, m_plan->mask().layer(layer), which);
    auto known = m_known.find({layer, which});
    if (known == m_known.end() || !contains(known->second.columns, columns)) {
        std::vector<Projection> wanted{which};
        const Projection other = which == Projection::output ? Projection::down : Projection::output;
        if (!m_known.contains({layer, other}) && canFit(m_model.spec(), layer, m_plan->mask().layer(layer), other))
            wanted.push_back(other);
        compute(layer, wanted, progress);
        known = m_known.find({layer, which});
    }
    known->second.lastUse = ++m_clock;
    FitSums found = columns.numel() == known->second.columns.numel()
                        ? known->second.sums
                        : known->second.sums.of(placesIn(known->second.columns, columns));
    shrink();
    return found;
}

FitSums LayerFits::bypassSums(int layer, const Progress& progress) {
    PruningMask mask = m_plan->mask();
    LayerMask own = mask.layer(layer);
    own.attention = AttentionCut::bypassQk;
    own.alpha = 1;
    own.compensation.reset();
    mask.setLayer(layer, own);
    const auto plan = m_model.runner().plan(mask, m_plan->type());
    OfProjections<SumParts> sums;
    const std::vector<Targets>& wantedOutputs = targets(layer, progress);
    m_inputs.goTo(layer, progress);
    sums[Projection::output] =
        emptySums(m_model, layer, mask.layer(layer), Projection::output, m_inputs.streams().front().device());
    const auto& batches = m_inputs.batches().batches;
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
        progress.check();
        addSums(m_model, *plan, layer, m_inputs.streams()[batch], batches[batch], m_tokens[batch], wantedOutputs[batch],
                std::span(&bothProjections[0], 1), sums);
    }
    ++m_computed;
    return std::move(sums[Projection::output].fitted);
}

/// The outputs of the dense model's projections in a layer, for each batch.
const std::vector<Targets>& LayerFits::targets(int layer, const Progress& progress) {
    if (const auto known = m_targets.find(layer); known != m_targets.end())
        return known->second;
    m_denseInputs.goTo(layer, progress);
    std::vector<Targets> found;
    std::int64_t bytes = 0;
    for (std::size_t batch = 0; batch < m_denseInputs.streams().size(); ++batch) {
        progress.check();
        at::Tensor output;
        found.push_back(targetsOf(m_model, *m_dense, layer, m_denseInputs.streams()[batch],
                                  m_inputs.batches().batches[batch], output));
        for (const at::Tensor& target : found.back().values)
            bytes += target.defined() ? static_cast<std::int64_t>(target.nbytes()) : 0;
    }
    if ((std::ssize(m_targets) + 1) * bytes > m_targetBytes)
        m_targets.clear();
    return m_targets.emplace(layer, std::move(found)).first->second;
}

void LayerFits::compute(int layer, std::span<const Projection> wanted, const Progress& progress) {
    const LayerMask& mask = m_plan->mask().layer(layer);
    OfProjections<SumParts> sums;
    const std::vector<Targets>& wantedOutputs = targets(layer, progress);
    m_inputs.goTo(layer, progress);
    for (const Projection which : wanted)
        sums[which] = emptySums(m_model, layer, mask, which, m_inputs.streams().front().device());
    const auto& batches = m_inputs.batches().batches;
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
        progress.check();
        addSums(m_model, *m_plan, layer, m_inputs.streams()[batch], batches[batch], m_tokens[batch],
                wantedOutputs[batch], wanted, sums);
    }
    for (const Projection which : wanted)
        store(layer, which, std::move(sums[which].fitted));
    ++m_computed;
}

void LayerFits::store(int layer, Projection which, FitSums sums) {
    const at::Tensor columns = keptColumns(m_model.spec(), layer, m_plan->mask().layer(layer), which);
    m_known.insert_or_assign({layer, which}, Known{columns, std::move(sums), ++m_clock});
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
