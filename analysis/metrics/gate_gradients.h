#pragma once

#include "analysis/running/backward_walk.h"
#include "analysis/base/matrix.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// Something of a model that a gate ξ in [0, 1] stands before (methods.md 4.5): a head before the output projection,
/// a sublayer where it adds to the stream, behind any norm of its own, a block as what it changes of the stream. A
/// bypass is what attention would add to the stream if each token attended to itself alone: its gate is opened, not
/// closed, so that bypassing with alpha turns attention's gate from 1 to 0 and this one from 0 to alpha.
struct Gate {
    enum class Of { head, attention, mlp, block, bypass };
    Of of;
    int layer;
    int head = -1; ///< of the model
    bool operator==(const Gate&) const = default;
};

/// What gates are wanted of.
struct GateKinds {
    bool heads = true;
    bool attention = true;
    bool mlps = true;
    bool blocks = true;
    bool bypasses = true; ///< gateEffects() alone has them
    bool neurons = true;  ///< likewise; they are no gates, but diagonals
};

/// All gates before what a mask keeps, by number: heads of all layers, then attention, MLPs and blocks; of bypasses
/// none (gate_effects.h). Layers that share their weights share their gates, which bear the first layer's number.
class Gates {
public:
    Gates(const ModelSpec& spec, const PruningMask& mask, GateKinds kinds = {});

    std::span<const Gate> all() const { return m_gates; }
    /// What backward must look at to read() a layer.
    std::vector<Tap> taps(int layer) const;
    /// Adds what one layer gives to dF/dξ at ξ = 1. @param gradients [rows, gates], a row for each of the batch
    void read(const LayerBackward& pulled, Matrix& gradients) const;

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

/// Hears of each pass of each batch: dF/dξ, [rows, gates], in float64.
using GateSink = std::function<void(std::size_t batch, std::size_t pass, const Matrix& gradients)>;

/// Gradients of scalars of each row with respect to all gates, from one backward pass for each scalar.
/// @param scalars of a batch, the same number for each (GradientScalars makes some) @throws as walkBackward()
void gateGradients(const Model& model, const Plan& plan, std::span<const Batch> batches, const Gates& gates,
                   const std::function<std::vector<BackwardScalar>(std::size_t batch)>& scalars, const GateSink& sink,
                   const Progress& progress, const BackwardMemory& memory = {});

} // namespace secateur
