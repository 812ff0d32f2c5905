#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <vector>

namespace secateur {

/// Times of the sublayers of a model on this machine, from which the time under any mask follows: a sublayer takes the
/// share of its time that it keeps of its operations. Layers of the same shape are timed once.
class SublayerTimes {
public:
    /// Times each shape of layer on one sequence, whole and without each sublayer, and the LM head.
    /// @param positions length of the sequence; at most the model's context is used @throws Error as Runner
    SublayerTimes(const Model& model, int positions, ComputeType type);

    /// Estimated seconds of a forward pass over the sequence.
    double seconds(const PruningMask& mask) const;

private:
    struct LayerTimes {
        double attention = 0;
        double mlp = 0;
    };

    const Model& m_model;
    int m_positions;
    std::vector<LayerTimes> m_layers;
    double m_lmHead = 0;
};

/// Measured seconds of a forward pass with the LM head over one sequence under a mask: the least of some runs.
double measuredSeconds(const Model& model, const PruningMask& mask, int positions, ComputeType type);

} // namespace secateur
