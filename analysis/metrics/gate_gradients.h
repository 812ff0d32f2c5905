#pragma once

#include "analysis/base/matrix.h"
#include "analysis/running/backward_walk.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// A factor ξ in [0, 1] on a unit's contribution (resources/manual/metrics.md, Prediction of a mask): of a head in
/// front of the output projection, of a sublayer on its update (after any norm of the output), of a block on the change
/// of the residual stream. The gate of a bypass is on the attention update that results when each token attends only to
/// itself. It is opened instead of closed: a bypass with alpha moves the attention's gate from 1 to 0 and this one from
/// 0 to alpha.
struct Gate {
    enum class Of { head, attention, mlp, block, bypass };
    Of of;
    int layer;
    int head = -1; ///< of the model
    bool operator==(const Gate&) const = default;
};

/// The kinds of gates to include.
struct GateKinds {
    bool heads = true;
    bool attention = true;
    bool mlps = true;
    bool blocks = true;
    bool bypasses = true; ///< for gateEffects() only
    bool neurons = true;  ///< likewise; only the diagonal of F
};

/// The gates of all units that a mask keeps, by number: heads of all layers, then attention, MLPs and blocks, without
/// bypasses (gate_effects.h). Layers that share their weights share their gates, which have the first layer's number.
class Gates {
public:
    Gates(const ModelSpec& spec, const PruningMask& mask, GateKinds kinds = {});

    std::span<const Gate> all() const { return m_gates; }
    /// The taps of the backward pass that read() needs.
    std::vector<Tap> taps(int layer) const;
    /// Adds one layer's part of dF/dξ at ξ = 1. @param gradients [rows, gates], one row for each of the batch
    void read(const LayerBackward& backward, Matrix& gradients) const;

private:
    struct Places {
        std::vector<std::size_t> heads; ///< of the kept ones, in order
        std::ptrdiff_t attention = -1;  ///< -1 = none
        std::ptrdiff_t mlp = -1;
        std::ptrdiff_t block = -1;
    };
    void number(const ModelSpec& spec, const PruningMask& mask, Gate::Of of);

    std::vector<Gate> m_gates;
    std::vector<Places> m_places; ///< by layer
};

/// Is called for each pass of each batch with dF/dξ, [rows, gates], in float64.
using GateSink = std::function<void(std::size_t batch, std::size_t pass, const Matrix& gradients)>;

/// Gradients of scalars of each row with respect to all gates, from one backward pass for each scalar.
/// @param scalars of a batch, the same number for each (GradientScalars makes some) @throws as walkBackward()
void gateGradients(const Model& model, const Plan& plan, std::span<const Batch> batches, const Gates& gates,
                   const std::function<std::vector<BackwardScalar>(std::size_t batch)>& scalars, const GateSink& sink,
                   const Progress& progress, const BackwardMemory& memory = {});

} // namespace secateur
