#pragma once

#include "analysis/metrics/ablation_parts.h"

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace secateur {

/// A prediction of how much the loss rises without a unit.
struct PredictedRise {
    double rise = 0;  ///< in nats; -infinity = unknown
    double doubt = 0; ///< standard error of `rise`, up to a factor that all predictions share
};

/// Remembers how much the loss rose without each unit in earlier steps of a greedy strategy, to predict the next step.
/// A cut changes most rises by a tenth of their size. The standard error of a prediction is proportional to the last
/// measured rise plus the median of all, and grows with the root of the number of steps since. A step in the layer of
/// the unit counts four times.
class RiseMemory {
public:
    /// @param rises the rise of the loss without each part, in nats; NaN = not measured in this step
    void remember(std::span<const AblationPart> parts, std::span<const double> rises);
    /// Takes into account that a part has been removed after remember().
    void addCut(const AblationPart& part);

    bool isEmpty() const { return m_known.empty(); }
    std::vector<PredictedRise> predictions(std::span<const AblationPart> parts) const;

private:
    struct Known {
        double rise = 0;
        int age = 0; ///< number of steps since it was measured
    };
    using Unit = std::tuple<int, std::size_t, std::size_t>; ///< layer, index of the request, column

    static Unit unitOf(const AblationPart& part) { return {part.layer, part.request, part.column}; }

    std::map<Unit, Known> m_known;
};

/// Chooses the rises of a step to measure next: first the twelve that are predicted to be the lowest, then those that
/// may be lower than the lowest measured one, at two standard errors. The factor of all standard errors is estimated
/// from the measured rises. At most as many are chosen as were measured before.
/// @param measured rises that were measured in this step; NaN = not yet @returns indexes, ascending; none = no rise is
/// in doubt
std::vector<std::size_t> doubtfulRises(std::span<const PredictedRise> predicted, std::span<const double> measured);

} // namespace secateur
