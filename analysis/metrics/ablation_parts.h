#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/metric.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// The rows of metrics that need runs without one unit at a time.
std::span<const MetricInfo> ablationMetrics();

/// Whether the value is the decrease of a task's accuracy (of=accuracy) instead of the increase of the loss.
bool isOfAccuracy(const MetricRequest& request);
/// Whether only the values are exact that decide which units are the lowest (option screen).
bool isScreened(const MetricRequest& request);
/// The share of the cost of ablating all units that may be spent on exact values: 1, or as the option exact says.
double exactShare(const MetricRequest& request);

/// A unit of a model that is removed alone.
struct AblationPart {
    std::size_t request = 0; ///< that its value belongs to
    int layer = 0;           ///< of layers that share their weights the first; the unit is removed from all of them
    std::size_t column = 0;  ///< of the value: the head, or 0
    LayerMask without;       ///< the layer's mask with this unit cut besides
};

/// The units of a layer that a mask keeps, in order, of the kind that the request's metric ranks. None in a layer that
/// shares the weights of an earlier one.
std::vector<AblationPart> partsOf(const ModelSpec& spec, const PruningMask& mask, int layer, std::size_t request,
                                  const MetricRequest& of);

/// A value with its standard error.
struct AblationEffect {
    double value = 0;
    double error = 0; ///< over sequences or questions; NaN for a single one
};

/// Results that grow by one value after another.
class AblationTable {
public:
    /// @param known results of the same measurement, complete or not, by result id: their values are not measured again
    AblationTable(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                  std::span<const MetricResult> known);

    /// The units of a layer that one request has no value of.
    std::vector<AblationPart> missing(int layer, std::size_t request) const;
    std::size_t requests() const { return m_results.size(); }
    bool isComplete() const;
    /// Whether there is any value at all.
    bool isEmpty() const;

    /// Also sets the value in the layers that share the weights of the part's layer.
    void set(const AblationPart& part, const AblationEffect& effect);
    /// The values of a layer so far.
    std::span<const double> row(std::size_t request, int layer) const {
        return m_results[request].values.row(static_cast<std::size_t>(layer));
    }
    std::vector<MetricResult>& results() { return m_results; }

private:
    const ModelSpec& m_spec;
    PruningMask m_mask;
    std::vector<MetricResult> m_results; ///< of each request
};

/// The cost of removing units, in plain passes of the same sequences through all layers.
class AblationCosts {
public:
    /// @param spec, mask must outlive it
    AblationCosts(const ModelSpec& spec, const PruningMask& mask, std::span<const TokenSequence> sequences);

    double lmHead() const;
    /// Of one unit: the rest of its layer that is not shared with other units, and the layers above.
    double without(const AblationPart& part) const;

private:
    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    int m_positions = 1;
    std::vector<double> m_above; ///< operations for a token, from each layer to the last
};

} // namespace secateur
