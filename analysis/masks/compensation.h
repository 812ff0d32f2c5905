#pragma once

#include <vector>

namespace secateur {

/// Changes of a layer's kept weights that make up for its cuts. An empty vector changes nothing.
struct LayerCompensation {
    std::vector<float> headScale;     ///< [heads] factors of the heads' columns of the output projection
    std::vector<float> neuronScale;   ///< [ffn] factors of the neurons' columns of the down projection
    std::vector<float> attentionBias; ///< [hidden] added to the output of the output projection, before any norm
    std::vector<float> mlpBias;       ///< [hidden] added to the output of the down projection, before any norm

    bool empty() const {
        return headScale.empty() && neuronScale.empty() && attentionBias.empty() && mlpBias.empty();
    }
    bool operator==(const LayerCompensation&) const = default;
};

} // namespace secateur
