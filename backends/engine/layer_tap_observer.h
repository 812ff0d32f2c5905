#pragma once

#include "analysis/running/layer_observer.h"
#include "backends/engine/layer_math.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <span>

namespace secateur {

/// Passes the taps of one layer on to a LayerObserver, in the shapes that observers expect. For sources only: includes
/// ATen.
class LayerTapObserver : public TapObserver {
public:
    LayerTapObserver(LayerObserver& observer, int layer, const AttentionInput& input)
        : m_observer(observer)
        , m_layer(layer)
        , m_input(input) {}

    bool wants(Tap tap) const override { return tap != Tap::attention && m_observer.wants(m_layer, tap); }
    void see(Tap tap, const at::Tensor& values) override {
        const bool byHead = tap == Tap::query || tap == Tap::key || tap == Tap::value || tap == Tap::context;
        const at::Tensor shaped =
            byHead ? values.reshape({m_input.rows, m_input.positions, -1, m_input.layer.spec.headDim})
                   : values.reshape({m_input.rows, m_input.positions, -1});
        m_observer.see(m_layer, tap, m_observer.takesPlanType() ? shaped : shaped.to(at::kFloat));
    }
    bool wantsAttention() const override { return m_observer.wantsAttention(m_layer); }
    HeadRange attentionHeads() const override { return m_observer.attentionHeads(m_layer); }
    void seeAttention(std::int64_t firstHead, std::int64_t firstQuery, const at::Tensor& probabilities) override {
        m_observer.seeAttention(m_layer, firstHead, firstQuery, probabilities);
    }
    std::span<const AttentionFeature> attentionFeatures() const override {
        return m_observer.attentionFeatures(m_layer);
    }
    void seeAttentionFeatures(const at::Tensor& features) override {
        m_observer.seeAttentionFeatures(m_layer, features);
    }

private:
    LayerObserver& m_observer;
    int m_layer;
    const AttentionInput& m_input;
};

} // namespace secateur
