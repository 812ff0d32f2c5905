#pragma once

#include "analysis/running/batch.h"
#include "analysis/metrics/forward_values.h"
#include "analysis/running/layer_observer.h"
#include "analysis/metrics/layer_sums.h"
#include "analysis/running/plan.h"

#include <set>
#include <span>
#include <vector>

namespace secateur {

/// Looks at the layers of a run and keeps, of each, the sums that the requests need; nothing that none of them needs is
/// asked of the engine. For sources only: pulls in ATen.
class ForwardObserver : public LayerObserver {
public:
    /// @param requests of forward metrics @param longest tokens of the longest sequence. All must outlive it.
    /// @throws UsageError for options that do not go with the model or the sequences
    ForwardObserver(const Model& model, const Plan& plan, std::span<const MetricRequest> requests, std::int64_t longest,
                    WritingWeights& weights);

    /// A batch is about to run through a layer.
    void enter(int layer, const Batch& batch, const at::Tensor& input);
    /// It has: -> what it comes to.
    LayerSums leave(const at::Tensor& output);

    /// By place among the requests; null where the metric is none of attention.
    const AttentionMetric* attention(std::size_t request) const;
    /// A metric of a layer from its sums: AttentionValues of any kind, by kept units.
    AttentionValues values(std::size_t request, int layer, const LayerSums& sums) const;
    const KeptUnits& kept(int layer) const { return m_kept[static_cast<std::size_t>(layer)]; }

    bool wants(int layer, Tap tap) const override;
    bool takesPlanType() const override { return true; }
    void see(int layer, Tap tap, const at::Tensor& values) override;
    std::span<const AttentionFeature> attentionFeatures(int layer) const override;
    void seeAttentionFeatures(int layer, const at::Tensor& features) override;

private:
    struct Watched {
        std::size_t request;
        AttentionMetric metric;
        std::vector<std::size_t> features; ///< places of its own among all
    };

    bool observes(Observes what) const { return m_observed.contains(what); }
    bool wantsSums() const;
    void watch(std::size_t request, std::int64_t longest);
    std::array<SumNorm, 2> normsOf(int layer) const;

    const Model& m_model;
    const ModelSpec& m_spec;
    std::span<const MetricRequest> m_requests;
    WritingWeights& m_weights;
    std::set<Observes> m_observed;
    std::vector<KeptUnits> m_kept;
    std::vector<Watched> m_watched;
    std::vector<AttentionFeature> m_features;

    // Of the layer at work.
    int m_layer = 0;
    std::vector<int> m_lengths;
    LayerStreams m_streams;
    LayerSums m_sums;
};

} // namespace secateur
