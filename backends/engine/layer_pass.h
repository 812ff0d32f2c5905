#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/engine_plan.h"
#include "backends/engine/layer_math.h"

namespace secateur {

/// One layer of any family over one batch (architectures.md 1.4 and 2). Streams are [tokens, hidden]. For sources only:
/// pulls in ATen.
class LayerPass {
public:
    /// All but `observer` must outlive it unchanged.
    LayerPass(const LayerMath& math, const AttentionInput& input, TapObserver& observer);

    at::Tensor run(const at::Tensor& x) const;

    // Its parts, for those that share some of them.

    /// What attention reads: normed, unless norms follow; of the plan's type. Undefined where nothing reads it.
    at::Tensor attentionInput(const at::Tensor& x) const;
    /// What the heads gather; for kinds without scores, what the output projection reads.
    at::Tensor context(const at::Tensor& read) const;
    /// Behind the output projection -> what attention adds to the stream.
    at::Tensor attentionUpdate(const at::Tensor& attentionOutput) const;
    /// The rest of the layer. @param update of attention; undefined = none
    at::Tensor afterAttention(const at::Tensor& x, const at::Tensor& update, const at::Tensor& read) const;

private:
    at::Tensor mlpHidden(const at::Tensor& read) const;
    at::Tensor addMlp(const at::Tensor& sum, bool ownsSum, const at::Tensor& read) const;
    void show(Tap tap, const at::Tensor& values) const;

    const LayerMath& m_math;
    const AttentionInput& m_input;
    const PlanLayer& m_layer;
    NormPlace m_place;
    TapObserver& m_observer;
};

/// Runner::runVariants for streams [tokens, hidden]. For sources only: pulls in ATen.
/// @param input of the plan's own layer
void runLayerVariants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input,
                      const at::Tensor& x, std::span<const LayerMask> variants, const Runner::VariantSink& sink);

} // namespace secateur
