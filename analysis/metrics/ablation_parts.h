#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/metric.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// The table rows of the metrics that remove one unit at a time.
std::span<const MetricInfo> ablationMetrics();

/// Whether the value is the decrease of a task's accuracy (of=accuracy) instead of the increase of the loss.
bool isOfAccuracy(const MetricRequest& request);
/// Whether only some values are exact: those that decide which units are the lowest (option `screen`).
bool isScreened(const MetricRequest& request);
/// The option `exact`: the share of the cost of ablating all units that may be spent on exact values. 1 if it is not
/// set.
double exactShare(const MetricRequest& request);

/// A unit that is ablated, that is, removed alone.
struct AblationPart {
    std::size_t request = 0; ///< index of the request that its value is for
    int layer = 0;           ///< the first of the layers that share its weights; the unit is removed from all of them
    std::size_t column = 0;  ///< column of its value in the matrix: the head's index, or 0
    LayerMask without;       ///< the layer's mask in which this unit is cut too
};

/// The units that a mask keeps in a layer, of the kind that the metric ranks, in order. None for a layer that shares
/// the weights of an earlier layer. @param request index of the request @param of the request itself
std::vector<AblationPart> partsOf(const ModelSpec& spec, const PruningMask& mask, int layer, std::size_t request,
                                  const MetricRequest& of);

/// A value with its standard error.
struct AblationEffect {
    double value = 0;
    double error = 0; ///< standard error over sequences or questions; NaN for a single one
};

/// Results to which values are added one by one.
class AblationTable {
public:
    /// @param known earlier results of the same measurement, which may be incomplete; results with the id of a request
    /// give it their values
    AblationTable(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                  std::span<const MetricResult> known);

    /// The units of a layer that have no value for a request yet.
    std::vector<AblationPart> missing(int layer, std::size_t request) const;
    std::size_t requests() const { return m_results.size(); }
    bool isComplete() const;
    /// Whether there is no value at all.
    bool isEmpty() const;

    /// Sets a value. If layers share the weights of the unit's layer, sets it in all of them.
    void set(const AblationPart& part, const AblationEffect& effect);
    /// The values of a layer so far.
    std::span<const double> row(std::size_t request, int layer) const {
        return m_results[request].values.row(static_cast<std::size_t>(layer));
    }
    std::vector<MetricResult>& results() { return m_results; }

private:
    const ModelSpec& m_spec;
    PruningMask m_mask;
    std::vector<MetricResult> m_results; ///< one for each request
};

/// The cost of ablations, relative to a forward pass of the same sequences through all layers.
class AblationCosts {
public:
    /// @param spec, mask must outlive this object
    AblationCosts(const ModelSpec& spec, const PruningMask& mask, std::span<const TokenSequence> sequences);

    double lmHead() const;
    /// The cost of the run without a unit: of its layer's MLP, unless the unit is in it, and of the layers above. If
    /// the layer shares its weights: of the whole layer and the layers above.
    double without(const AblationPart& part) const;

private:
    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    int m_positions = 1;
    std::vector<double> m_above; ///< [layers + 1] operations per token from a layer to the last layer, including both
};

} // namespace secateur
