#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/rise_memory.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// A calibration text for losses under variants. The argument must outlive the result.
VariantText variantText(const CalibrationText& text);

/// The removal that a step of a greedy strategy chooses.
struct LossStep {
    AblationPart part; ///< AblationPart::request is the index of its unit in the list of units
    CutUnit unit = CutUnit::head;
    double loss = 0; ///< mean loss without the unit, in nats
};

/// The units of these kinds that a mask keeps and that are not protected. @param units AblationPart::request is an
/// index in them
std::vector<AblationPart> removableParts(const ModelSpec& spec, const PruningMask& mask, std::span<const CutUnit> units,
                                         const Protection& protection);

/// Rules for the steps of a greedy strategy.
struct LossStepRules {
    std::vector<CutUnit> units; ///< heads, attention sublayers, MLPs or blocks
    Protection protection;
    ComputeType type = ComputeType::automatic;
    bool screens = false;         ///< whether to measure only units in doubt from the second step on (RiseMemory)
    std::int64_t streamBytes = 0; ///< maximum for storing inputs of layers between measurements
};

/// Finds the unit whose removal leaves the lowest loss on a text, one step after another. Losses are rounded to 1e-6
/// nats. Of equal losses the lowest layer is first, in it the order of LossStepRules::units, then the lowest index.
class LossSteps {
public:
    /// @param model, text must outlive this object @throws as SequenceLosses
    LossSteps(const Model& model, const PruningMask& mask, const VariantText& text, LossStepRules rules);

    /// The mean loss under a mask, in nats. @throws Cancelled
    double loss(const PruningMask& mask, const Progress& progress);
    /// The best removal; empty if no unit can be removed. A step that is cancelled leaves no trace.
    /// @param mask with LossStepRules::screens, that of the call before without the unit that it returned
    /// @param now loss() under the mask @throws Cancelled
    std::optional<LossStep> next(const PruningMask& mask, double now, const Progress& progress);

    std::int64_t measured() const { return m_measured; } ///< number of losses that were measured in all steps
    std::int64_t tried() const { return m_tried; }       ///< number of candidates in all steps

private:
    void take(const PruningMask& mask);
    std::vector<double> measuredLosses(std::span<const AblationPart> parts, const Progress& progress);
    std::vector<double> screenedLosses(std::span<const AblationPart> parts, double now, const Progress& progress);

    const Model& m_model;
    VariantText m_text;
    LossStepRules m_rules;
    std::vector<MetricRequest> m_requests; ///< for each unit, the metric that removes one at a time
    std::shared_ptr<const Plan> m_plan;
    VariantWalk m_walk;
    RiseMemory m_rises;
    std::int64_t m_measured = 0;
    std::int64_t m_tried = 0;
};

/// The cost of a step in forward passes over the text.
/// @param units number of candidates @param each mean cost of one candidate
/// @param screens whether only units in doubt are measured
double stepPasses(double units, double each, bool screens);

/// The mean cost of measuring the loss without one of the model's units of these kinds, in forward passes.
double meanRemovalPasses(const ModelSpec& spec, std::span<const CutUnit> units);

} // namespace secateur
