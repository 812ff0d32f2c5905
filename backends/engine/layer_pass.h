#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/engine_plan.h"
#include "backends/engine/layer_math.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

/// Runs one layer of any architecture on a batch (see The layer in resources/manual/architecture.md). Streams are
/// [tokens, hidden]. For sources only: includes ATen.
class LayerPass {
public:
    /// The arguments must outlive this object.
    LayerPass(const LayerMath& math, const AttentionInput& input, TapObserver& observer);

    at::Tensor run(const at::Tensor& x) const;

    // The steps of run(), for masks that share the results of some steps.

    /// The input of attention in the plan's type. It is normalised, except in post-norm models. Undefined if nothing
    /// reads it.
    at::Tensor attentionInput(const at::Tensor& x) const;
    /// The contexts of the heads. For kinds of attention without scores, the input of the output projection.
    at::Tensor context(const at::Tensor& input) const;
    /// The attention update, computed from the result of the output projection.
    at::Tensor attentionUpdate(const at::Tensor& attentionOutput) const;
    /// Runs the rest of the layer and returns its output. @param update the attention update; undefined = none
    at::Tensor afterAttention(const at::Tensor& x, const at::Tensor& update, const at::Tensor& input) const;

private:
    at::Tensor repeatedValues(const at::Tensor& values) const;
    at::Tensor mlpHidden(const at::Tensor& input) const;
    at::Tensor addMlp(const at::Tensor& sum, bool ownsSum, const at::Tensor& input) const;
    void show(Tap tap, const at::Tensor& values) const;

    const LayerMath& m_math;
    const AttentionInput& m_input;
    const PlanLayer& m_layer;
    NormPlace m_place;
    TapObserver& m_observer;
};

/// Runner::runVariants for streams [tokens, hidden]. For sources only: includes ATen.
/// @param input input of the plan's own layer
void runLayerVariants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input,
                      const at::Tensor& x, std::span<const LayerMask> variants, const Runner::VariantSink& sink);

/// The rotary tables of a model, which are extended when longer ones are needed. Thread-safe.
/// For sources only: includes ATen.
class RotaryCache {
public:
    /// A table of at least `positions` positions.
    RotaryTable table(const RotarySpec& spec, std::int64_t positions, const at::Device& device) const;

private:
    mutable std::mutex m_mutex;
    mutable std::vector<std::pair<RotarySpec, RotaryTable>> m_tables;
};

/// The engine's KV cache. For sources only: includes ATen.
class EngineCache : public KvCache {
public:
    /// @param only index of the only layer to cache; none = all layers
    EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device,
                std::optional<int> only);

    int rows() const override { return m_rows; }
    int capacity() const override { return m_capacity; }
    std::int64_t bytes() const override;
    void begin(int row, const KvCache& from, int fromRow, int positions) override;

    LayerCache& layer(int index) { return m_layers.at(static_cast<std::size_t>(index)); }

private:
    int m_rows;
    int m_capacity;
    std::vector<LayerCache> m_layers; ///< caches by layer; tensors are undefined for layers that need no cache
};

} // namespace secateur
