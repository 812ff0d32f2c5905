#include "analysis/metrics/gradient_sums.h"

#include "analysis/metrics/forward_values.h"
#include "analysis/metrics/head_gradients.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

namespace secateur {

namespace {

constexpr std::array projections{std::pair{Tap::query, HeadSum::queryNorm}, std::pair{Tap::key, HeadSum::keyNorm},
                                 std::pair{Tap::value, HeadSum::valueNorm}};
constexpr std::array ofGates{HeadSum::gate, HeadSum::gateSquare, HeadSum::gateMagnitude, HeadSum::tokenMagnitude,
                             HeadSum::batchMagnitude};

/// sum += values, where there may be no sum yet.
void accumulate(at::Tensor& sum, const at::Tensor& values) {
    if (sum.defined())
        sum.add_(values);
    else
        sum = values;
}

at::Tensor mergedRows(const at::Tensor& values) {
    return values.flatten(0, 1).unsqueeze(0);
}

} // namespace

bool GradientPass::wantsNorms() const {
    return std::ranges::any_of(projections, [&](const auto& own) { return wants(own.second); });
}

bool GradientPass::wantsGates() const {
    return std::ranges::any_of(ofGates, [&](HeadSum sum) { return wants(sum); });
}

void PassSums::add(const PassSums& other) {
    for (const auto& [sum, values] : other.heads) {
        const auto [own, isNew] = heads.try_emplace(sum, values);
        for (std::size_t i = 0; !isNew && i < values.values().size(); ++i)
            own->second.values()[i] += values.values()[i];
    }
    rows += other.rows;
    targets += other.targets;
    batches += other.batches;
}

GradientSums::GradientSums(const Model& model, const Plan& plan, const PaddedBatches& batches,
                           const GradientScalars& scalars, std::span<const GradientPass> passes, bool mergesRows)
    : m_spec(model.spec())
    , m_mask(plan.mask())
    , m_batches(batches)
    , m_scalars(scalars)
    , m_passes(passes)
    , m_mergesRows(mergesRows)
    , m_pending(passes.size())
    , m_sums(passes.size()) {}

std::vector<Tap> GradientSums::taps(int layer, std::size_t pass) const {
    if (KeptUnits(m_spec.layers[static_cast<std::size_t>(layer)], m_mask.layer(layer)).heads.empty())
        return {};
    const GradientPass& own = m_passes[pass];
    std::vector<Tap> taps;
    if (own.wantsNorms())
        taps.push_back(Tap::attentionInput);
    for (const auto& [tap, sum] : projections)
        if (own.wants(sum))
            taps.push_back(tap);
    if (own.wantsGates())
        taps.push_back(Tap::context);
    if (own.wants(HeadSum::pairMagnitude))
        taps.push_back(Tap::attention);
    return taps;
}

void GradientSums::add(const LayerBackward& pulled) {
    const auto tied = m_mask.tiedTo(pulled.layer);
    const auto& taps = pulled.gradients.taps;
    if (taps.empty())
        return;
    Open& open = m_open[{pulled.batch, pulled.pass}];
    addNorms(pulled, tied.size() > 1, open);
    if (const auto context = taps.find(Tap::context); context != taps.end())
        accumulate(open.gates, tokenGates(context->second));
    if (const auto attention = taps.find(Tap::attention); attention != taps.end()) {
        const auto& [value, gradient] = attention->second;
        accumulate(open.pairs, (value * gradient).abs().sum({2, 3}, false, at::kDouble).to(at::kCPU));
    }
    if (tied.front() != pulled.layer)
        return;
    close(pulled.layer, pulled.batch, pulled.pass, open);
    m_open.erase({pulled.batch, pulled.pass});
}

void GradientSums::addNorms(const LayerBackward& pulled, bool isShared, Open& open) const {
    const auto& taps = pulled.gradients.taps;
    const auto read = taps.find(Tap::attentionInput);
    if (read == taps.end())
        return;
    const auto rowsOf = [&](const at::Tensor& values) { return m_mergesRows ? mergedRows(values) : values; };
    const at::Tensor input = rowsOf(read->second.value);
    std::optional<ProjectionNorms> norms;
    if (!isShared)
        norms.emplace(input);
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const auto found = taps.find(projections[i].first);
        if (found == taps.end() || !found->second.gradient.defined())
            continue;
        const at::Tensor delta = rowsOf(found->second.gradient);
        if (isShared)
            accumulate(open.gradients[i], projectionGradients(delta, input));
        else
            open.squares[i] = norms->squares(delta);
    }
}

void GradientSums::close(int layer, std::size_t batch, std::size_t pass, const Open& open) {
    const GradientPass& own = m_passes[pass];
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const at::Tensor squares = open.gradients[i].defined() ? squaredNorms(open.gradients[i]) : open.squares[i];
        if (squares.defined())
            put(layer, pass, projections[i].second, squares.sqrt());
    }
    if (open.gates.defined()) {
        const at::Tensor gates = open.gates.sum(1); // [rows, heads]
        const auto add = [&](HeadSum sum, const auto& values) {
            if (own.wants(sum))
                put(layer, pass, sum, values());
        };
        add(HeadSum::gate, [&] {
            std::vector<double> targets;
            for (const std::size_t sequence : m_batches.sequences[batch])
                targets.push_back(m_scalars.targets(sequence));
            return gates * at::tensor(targets, at::kDouble).unsqueeze(1);
        });
        add(HeadSum::gateSquare, [&] { return gates.square(); });
        add(HeadSum::gateMagnitude, [&] { return gates.abs(); });
        add(HeadSum::tokenMagnitude, [&] { return open.gates.abs().sum(1); });
        add(HeadSum::batchMagnitude, [&] { return gates.mean(0, true).abs(); });
    }
    if (open.pairs.defined())
        put(layer, pass, HeadSum::pairMagnitude, open.pairs);
}

/// Adds the sum over the rows of [rows, heads].
void GradientSums::put(int layer, std::size_t pass, HeadSum sum, const at::Tensor& values) {
    const auto row = static_cast<std::size_t>(layer);
    const auto kept = KeptUnits(m_spec.layers[row], m_mask.layer(layer)).heads;
    const at::Tensor summed = values.sum(0).contiguous();
    const auto [found, isNew] =
        m_pending[pass].heads.try_emplace(sum, m_spec.layers.size(), static_cast<std::size_t>(m_spec.maxHeads()), 0.0);
    for (std::size_t i = 0; i < kept.size(); ++i)
        found->second(row, kept[i]) += summed.data_ptr<double>()[i];
}

void GradientSums::finish(std::size_t first, std::size_t end) {
    for (std::size_t pass = 0; pass < m_passes.size(); ++pass) {
        for (std::size_t batch = first; batch < end; ++batch) {
            m_pending[pass].batches += 1;
            for (const std::size_t sequence : m_batches.sequences[batch]) {
                const int targets = m_scalars.targets(sequence);
                const Scalarisation of = m_passes[pass].choice.of;
                const bool ofAll = of == Scalarisation::logitNorm || of == Scalarisation::pooledNorm;
                m_pending[pass].targets += targets;
                m_pending[pass].rows += ofAll || targets > 0 ? 1 : 0;
            }
        }
        m_sums[pass].add(std::exchange(m_pending[pass], {}));
    }
}

} // namespace secateur
