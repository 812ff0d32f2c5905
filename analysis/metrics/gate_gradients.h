#pragma once

#include "analysis/base/matrix.h"
#include "analysis/running/backward_walk.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// A factor ξ in [0, 1] on a unit's contribution (resources/manual/metrics.md, Prediction of a mask). The gate of a
/// head multiplies its part of the output projection's input; the gate of a sublayer its update (after any norm of the
/// output); the gate of a block the change of the residual stream. The gate of a bypass multiplies the attention update
/// in which each token attends only to itself. A bypass with alpha moves this gate from 0 to alpha, and the gate of the
/// attention sublayer from 1 to 0.
struct Gate {
    enum class Of { head, attention, mlp, block, bypass };
    Of of;
    int layer;
    int head = -1; ///< index in the layer, cut heads included; -1 for gates of other units
    bool operator==(const Gate&) const = default;
};

/// The kinds of gates to compute.
struct GateKinds {
    bool heads = true;
    bool attention = true;
    bool mlps = true;
    bool blocks = true;
    bool bypasses = true; ///< in gateEffects() only
    bool neurons = true;  ///< in gateEffects() only, and only for slopes and the diagonal of F
};

/// The gates of all units that a mask keeps, with numbers: first the heads of all layers, then attention, MLPs and
/// blocks. Gates of bypasses are not included; gateEffects() adds them. Layers that share their weights share gates;
/// Gate::layer is then the first of these layers.
class Gates {
public:
    Gates(const ModelSpec& spec, const PruningMask& mask, GateKinds kinds = {});

    std::span<const Gate> all() const { return m_gates; }
    /// The taps of the backward pass that read() uses.
    std::vector<Tap> taps(int layer) const;
    /// Adds the part of one layer to dF/dξ at ξ = 1, where F is the scalar of a row. @param gradients [rows, gates]
    void read(const LayerBackward& backward, Matrix& gradients) const;

private:
    struct Places {
        std::vector<std::size_t> heads; ///< index of the gate of each kept head, in order
        std::ptrdiff_t attention = -1;  ///< index of the gate; -1 = none
        std::ptrdiff_t mlp = -1;
        std::ptrdiff_t block = -1;
    };
    void number(const ModelSpec& spec, const PruningMask& mask, Gate::Of of);

    std::vector<Gate> m_gates;
    std::vector<Places> m_places; ///< gates of each layer
};

/// Called for each pass of each batch. @param gradients dF/dξ [rows, gates] of the rows' scalars F
using GateSink = std::function<void(std::size_t batch, std::size_t pass, const Matrix& gradients)>;

/// Gradients of each row's scalars with respect to all gates, one backward pass for each scalar.
/// @param scalars returns the scalars of a batch (GradientScalars::scalar()), equally many for each batch
/// @throws as walkBackward()
void gateGradients(const Model& model, const Plan& plan, std::span<const Batch> batches, const Gates& gates,
                   const std::function<std::vector<BackwardScalar>(std::size_t batch)>& scalars, const GateSink& sink,
                   const Progress& progress, const BackwardMemory& memory = {});

} // namespace secateur
