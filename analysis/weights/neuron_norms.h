#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"

#include <vector>

namespace secateur {

/// Norms of the read and write directions of a layer's neurons, in the stored weights.
struct NeuronNorms {
    int layer = 0;
    std::vector<double> up{};   ///< [ffn] 2-norm of each row of W_up
    std::vector<double> gate{}; ///< [ffn] 2-norm of each row of W_gate; empty if the MLP has no gate
    std::vector<double> down{}; ///< [ffn] 2-norm of each column of W_down (the metric mag_sp_neuron)
};

/// @throws UsageError if there is no such layer; Error if the layer has no MLP, or a file was truncated; Cancelled
NeuronNorms neuronNorms(const Model& model, int layer, const Progress& progress = {});

} // namespace secateur
