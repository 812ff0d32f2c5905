#include "analysis/metrics/forward_observer.h"

#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace secateur {

ForwardObserver::ForwardObserver(const Model& model, const Plan& plan, std::span<const MetricRequest> requests,
                                 std::int64_t longest, WritingWeights& weights)
    : m_model(model)
    , m_spec(model.spec())
    , m_requests(requests)
    , m_weights(weights) {
    for (int layer = 0; layer < m_spec.layerCount(); ++layer)
        m_kept.emplace_back(m_spec.layers[static_cast<std::size_t>(layer)], plan.mask().layer(layer));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const Observes what = forwardMetric(requests[i]).observes;
        m_observed.insert(what);
        if (what == Observes::attention)
            watch(i, longest);
    }
}

/// Numbers that several metrics need are asked for once.
void ForwardObserver::watch(std::size_t request, std::int64_t longest) {
    Watched watched{request, AttentionMetric(m_requests[request], longest, m_spec.family == Family::decoder), {}};
    for (const AttentionFeature& feature : watched.metric.features()) {
        const auto known = std::ranges::find(m_features, feature);
        watched.features.push_back(static_cast<std::size_t>(known - m_features.begin()));
        if (known == m_features.end())
            m_features.push_back(feature);
    }
    m_watched.push_back(std::move(watched));
}

const AttentionMetric* ForwardObserver::attention(std::size_t request) const {
    const auto found = std::ranges::find(m_watched, request, &Watched::request);
    return found == m_watched.end() ? nullptr : &found->metric;
}

AttentionValues ForwardObserver::values(std::size_t request, int layer, const LayerSums& sums) const {
    const KeptUnits& units = kept(layer);
    const auto found = std::ranges::find(m_watched, request, &Watched::request);
    if (found == m_watched.end())
        return {{valuesOf(m_requests[request], sums, layer, units, m_weights)}, {}};
    const auto place = static_cast<std::size_t>(found - m_watched.begin());
    const std::vector<double> own = place < sums.attention.size() ? sums.attention[place] : std::vector<double>();
    return found->metric.values(own, static_cast<int>(units.heads.size()));
}

bool ForwardObserver::wantsSums() const {
    return std::ranges::any_of(m_requests, [](const MetricRequest& request) { return request.flag("before_norm"); });
}

bool ForwardObserver::wants(int layer, Tap tap) const {
    switch (tap) {
    case Tap::attentionUpdate:
        return observes(Observes::stream);
    case Tap::mlpUpdate:
        return m_spec.normPlace == NormPlace::after && wantsSums();
    case Tap::context:
        return (observes(Observes::context) || observes(Observes::contributions)) && !kept(layer).heads.empty();
    case Tap::mlpHidden:
        return observes(Observes::neurons) && !kept(layer).neurons.empty();
    default:
        return false;
    }
}

std::span<const AttentionFeature> ForwardObserver::attentionFeatures(int layer) const {
    return kept(layer).heads.empty() ? std::span<const AttentionFeature>() : m_features;
}

void ForwardObserver::enter(int layer, const Batch& batch, const at::Tensor& input) {
    m_layer = layer;
    m_lengths.clear();
    for (int row = 0; row < batch.rows; ++row)
        m_lengths.push_back(batch.length(row));
    m_streams = {input, {}, {}, {}};
    m_sums = {};
    addRows(m_lengths, m_sums);
}

void ForwardObserver::see(int layer, Tap tap, const at::Tensor& values) {
    const TokenKernels& kernels = m_model.kernels().tokens();
    if (tap == Tap::attentionUpdate)
        m_streams.update = values;
    if (tap == Tap::mlpUpdate)
        m_streams.mlpUpdate = values;
    if (tap == Tap::mlpHidden)
        addColumns(kernels, values, m_lengths, &PartSums::neurons, m_sums);
    if (tap != Tap::context)
        return;
    if (observes(Observes::context))
        addColumns(kernels, values.flatten(2), m_lengths, &PartSums::context, m_sums);
    if (observes(Observes::contributions))
        addContributions(kernels, values, m_weights.ofHeads(layer, kept(layer).heads, values), m_lengths, m_sums);
}

void ForwardObserver::seeAttentionFeatures(int layer, const at::Tensor& features) {
    const at::Tensor own = features.cpu().contiguous(); // [rows, heads, features, positions]
    const auto positions = own.size(3);
    const LayerSpec& spec = m_spec.layers[static_cast<std::size_t>(layer)];
    m_sums.attention.resize(m_watched.size());
    for (std::size_t i = 0; i < m_watched.size(); ++i)
        for (std::int64_t row = 0; row < own.size(0); ++row) {
            const float* numbers = own.data_ptr<float>() + row * own.size(1) * own.size(2) * positions;
            m_watched[i].metric.add({m_lengths[static_cast<std::size_t>(row)], static_cast<int>(own.size(1)),
                                     m_spec.family == Family::decoder, spec.window,
                                     [&, numbers](int head, std::size_t feature) {
                                         return numbers + (head * own.size(2) +
                                                           static_cast<std::int64_t>(m_watched[i].features[feature])) *
                                                              positions;
                                     }},
                                    m_sums.attention[i]);
        }
}

std::array<SumNorm, 2> ForwardObserver::normsOf(int layer) const {
    if (m_spec.normPlace != NormPlace::after)
        return {};
    const auto norm = [&](WeightName weight, WeightName bias) {
        const auto read = [&](WeightName which) {
            return m_model.has(layer, which) ? m_model.tensor(layer, which).to(m_streams.input.device(), at::kDouble)
                                             : at::Tensor();
        };
        return SumNorm{read(weight), read(bias), m_spec.normEpsilon};
    };
    return {norm(WeightName::attentionPostNorm, WeightName::attentionPostNormBias),
            norm(WeightName::mlpPostNorm, WeightName::mlpPostNormBias)};
}

LayerSums ForwardObserver::leave(const at::Tensor& output) {
    m_streams.output = output;
    const StreamWishes wishes{observes(Observes::stream), observes(Observes::similarity)};
    if (wishes.turns || wishes.similarity)
        addStreams(m_model.kernels().tokens(), m_streams, m_lengths, m_spec.normPlace, normsOf(m_layer), wishes,
                   m_sums);
    m_streams = {};
    return std::exchange(m_sums, {});
}

} // namespace secateur
