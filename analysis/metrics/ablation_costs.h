#pragma once

#include "analysis/metrics/ablation_parts.h"
#include "analysis/text/sequences.h"

#include <span>
#include <vector>

namespace secateur {

/// What taking parts away costs, in plain passes of the same sequences through all layers.
class AblationCosts {
public:
    /// @param spec, mask stay the caller's, and outlive this
    AblationCosts(const ModelSpec& spec, const PruningMask& mask, std::span<const TokenSequence> sequences);

    double lmHead() const;
    /// What runs without a part: the rest of its layer that its variants do not share, and the layers above.
    double without(const AblationPart& part) const;

private:
    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    int m_positions = 1;
    std::vector<double> m_above; ///< operations for a token, from each layer on
};

} // namespace secateur
