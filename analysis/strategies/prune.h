#pragma once

#include "analysis/base/matrix.h"
#include "analysis/base/progress.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/strategy.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The user's choice of a strategy and its inputs.
struct PruneRequest {
    StrategyRequest strategy;
    Budget budget;
    std::string protect = "none";    ///< argument of Protection::parse()
    std::uint64_t seed = 0;          ///< only for strategies that need one
    std::optional<PruningMask> base; ///< mask to extend; absent = the dense model
};

struct PruneResult {
    PruningMask mask;
    std::optional<MetricResult> metric = {};  ///< values by which a ranking strategy cut, always of the dense model
    std::optional<PruneHistory> history = {}; ///< of a strategy that cuts in steps
    std::optional<MeasuredData> data = {};    ///< text on which a strategy that cuts in steps measured
    std::vector<std::string> warnings = {};
};

/// Measures a metric on the dense model.
using MeasureMetric = std::function<MetricResult(const MetricRequest& metric, const Progress& progress)>;

/// The text that a strategy measures on while it cuts.
struct CalibrationText {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {};     ///< as GradientRun::labels
    std::int64_t batchTokens = 4096;      ///< as GradientRun::batchTokens
    std::int64_t streamBytes = 1LL << 30; ///< maximum for keeping streams from step to step; none are kept beyond it
    ComputeType type = ComputeType::automatic;
    std::optional<MeasuredData> data = {}; ///< for the mask's provenance
};

/// Inputs of strategies besides the model and the request.
struct PruneInputs {
    MeasureMetric measure = {};               ///< absent = only metrics from weights can be measured
    std::optional<CalibrationText> text = {}; ///< for strategies with StrategyInfo::steps
};

/// The argument of StrategyInfo::run().
struct PruneContext {
    const Model& model;
    const PruneRequest& request;
    const PruneInputs& inputs;
    PruningMask base; ///< mask to extend
    Protection protection;
    const Progress& progress;

    /// The base with the units of lowest (or highest) value cut, as many as the budget states. @throws as cutLowest()
    PruningMask cutBy(const Matrix& values) const;
    /// @throws as cutLowest() if the budget cannot be met with any values
    void checkBudget() const;
    /// Values of the metric that the request ranks by, measured on the dense model. @throws as measure()
    MetricResult measureMetric() const;
};

/// Cuts units drawn uniformly at random.
PruneResult runRandom(const PruneContext& context);
/// Measures the metric of the request on the dense model and cuts one end of its ranking.
PruneResult runRanking(const PruneContext& context);

/// Makes a mask by a strategy. The same request gives the same mask.
/// @throws UsageError as cutLowest() and Protection::parse(), if possible before anything is measured; Error if an
/// input is missing or measuring fails; Cancelled
PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs, const Progress& progress);

/// The mask of a ranking strategy from known values of its metric. @throws as cutLowest()
PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values);

/// The cost of a strategy in forward passes over the calibration text; 0 if it needs no such text.
/// @throws UsageError if the budget cannot be met
double calibrationPasses(const ModelSpec& spec, const PruneRequest& request);

/// "50 heads in 50 steps: loss 2.31 -> 2.35 nats/token", for the steps whose cuts the mask has, then for steps that
/// were undone.
std::string sentence(const PruneHistory& history);

/// For the mask's record: strategy, options (`protect` among them), budget, seed, time and version.
/// @param base name or file of the mask that was extended; recorded only if that mask cuts something
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base);
/// The same, with the text and the history of the result.
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result);

/// Rules for choosing the units to cut by their values.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget;         ///< a percentage is of all units, protected and cut ones included, and is rounded down
    bool perLayer = false; ///< whether the budget applies to each layer with a unit that can be cut, not to the model
};

/// Adds cuts of the units of lowest (or highest) value to a mask; of equal values the lowest layer, then the lowest
/// index is cut first. Units that are protected, already cut or without a value (NaN) cannot be cut. The budget counts
/// new cuts only. Layers that share their weights count once, with the mean of their values. Needs no model, and is
/// fast enough to follow a slider.
/// @param values [layers, units of a layer]; one column for sublayers and blocks
/// @throws UsageError if the budget is a count that is negative or not whole, a percentage outside 0 to 100, or larger
/// than possible (the message then names the largest possible one); Error if `values` or `base` do not match the
/// structure of `spec`
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// Adds cuts of all units whose value is at most `bound` (at least, if the highest are cut first); the budget of
/// `order` does not apply.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Number of units that `after` cuts and `before` keeps; layers that share their weights count once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Number of units of the model; layers that share their weights count once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn uniformly from [0, 1), the same for a seed with any standard library. Cutting the units of lowest value
/// cuts at random, and the cuts of a larger budget include those of a smaller one.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks (MetricInfo::ranks). @throws UsageError if it ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
