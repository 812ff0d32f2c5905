#pragma once

#include "analysis/base/wire.h"
#include "analysis/campaigns/campaign.h"
#include "analysis/masks/mask_wire.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/strategies/strategy_wire.h"
#include "analysis/tasks/task_wire.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

class FarModel;

/// The inputs of a sweep that another process cannot read itself.
struct FarSweepInputs {
    SequenceText calibration;
    std::optional<EvaluationText> scored;
    std::optional<SequenceText> pooled;
    std::vector<AskedTask> tasks;
    std::optional<LatencyRules> latency;
    bool scoresCalibrationText = false;
    ComputeType type = ComputeType::automatic;
    std::int64_t batchTokens = 4096;
    std::vector<std::string> warnings;
};

/// What is known of earlier sweeps.
struct FarSweepKnown {
    std::vector<Curves> curves;
    std::vector<MetricResult> results;
    std::vector<Evaluation> evaluations;
    std::map<std::string, PruningMask> masks; ///< by digest

    /// The same for planSweep() and runSweep(). This object must outlive it.
    SweepKnown view() const;
};

/// runSweep() in the process of a far model. What is found is sent along if the sweep is repeated there.
Curves farSweep(const FarModel& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                const SweepSink& sink, const Progress& progress);
/// chooseOnParts() in the process of a far model.
void farChoiceOnParts(const FarModel& model, const SweepRequest& request, const SweepInputs& inputs,
                      const SweepKnown& known, int parts, const SweepSink& sink, const Progress& progress);

} // namespace secateur
