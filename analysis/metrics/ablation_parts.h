#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/running/plan.h"
#include "analysis/masks/pruning_mask.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// A part of a model that is to be taken away alone.
struct AblationPart {
    std::size_t request = 0; ///< whose value it gives
    int layer = 0;           ///< of those that share their weights the first: it goes from all of them
    std::size_t column = 0;  ///< of the value: the head, or 0
    LayerMask without;       ///< of the layer: what was cut before, and this part
};

/// Those parts of a layer that a mask has not cut yet, in order. None in a layer that shares the weights of an earlier
/// one.
std::vector<AblationPart> partsOf(const ModelSpec& spec, const PruningMask& mask, int layer, std::size_t request,
                                  const MetricRequest& of);

/// A value and how far it may lie from that of all such texts.
struct AblationEffect {
    double value = 0;
    double error = 0; ///< standard error over sequences or questions; NaN for a single one
};

/// What is known of the effects of taking parts away, as results that grow.
class AblationTable {
public:
    /// @param known results of the same measurement, whole or not, by result id: parts with a value there are not asked
    /// for again
    AblationTable(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                  std::span<const MetricResult> known);

    /// Of one request, those of a layer without a value.
    std::vector<AblationPart> missing(int layer, std::size_t request) const;
    std::size_t requests() const { return m_results.size(); }
    bool isComplete() const;
    /// Whether there is any value at all.
    bool isEmpty() const;

    /// Also in the layers that share the weights of the part's own.
    void set(const AblationPart& part, const AblationEffect& effect);
    /// Values of a layer, and of those that share its weights, as far as they are there.
    std::span<const double> row(std::size_t request, int layer) const {
        return m_results[request].values.row(static_cast<std::size_t>(layer));
    }
    std::vector<MetricResult>& results() { return m_results; }

private:
    const ModelSpec& m_spec;
    PruningMask m_mask;
    std::vector<MetricResult> m_results; ///< of each request
};

} // namespace secateur
