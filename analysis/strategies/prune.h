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

/// What a person asks of a strategy.
struct PruneRequest {
    StrategyRequest strategy;
    Budget budget;
    std::string protect = "none";    ///< as Protection::parse reads it
    std::uint64_t seed = 0;          ///< of strategies that need one
    std::optional<PruningMask> base; ///< mask to extend; absent = the dense model
};

struct PruneResult {
    PruningMask mask;
    std::optional<MetricResult> metric = {}; ///< that a ranking strategy measured, on the dense model whatever the base
    std::optional<PruneHistory> history = {}; ///< of a strategy that cuts in steps
    std::optional<MeasuredData> data = {};    ///< that such a strategy measured on
    std::vector<std::string> warnings = {};
};

/// Measures a metric on the dense model.
using MeasureMetric = std::function<MetricResult(const MetricRequest& metric, const Progress& progress)>;

/// The text that a strategy measures on while it cuts.
struct CalibrationText {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {};     ///< as GradientRun
    std::int64_t batchTokens = 4096;      ///< as GradientRun
    std::int64_t streamBytes = 1LL << 30; ///< of residual streams kept from step to step; if they need more, none is
    ComputeType type = ComputeType::automatic;
    std::optional<MeasuredData> data = {}; ///< for the mask's provenance
};

/// What strategies get from their caller besides the model.
struct PruneInputs {
    MeasureMetric measure = {};               ///< absent: metrics of weights alone can be measured
    std::optional<CalibrationText> text = {}; ///< of strategies with StrategyInfo::steps
};

/// What StrategyInfo::run() works on.
struct PruneContext {
    const Model& model;
    const PruneRequest& request;
    const PruneInputs& inputs;
    PruningMask base; ///< mask to extend
    Protection protection;
    const Progress& progress;

    /// The base with the units of lowest (or highest) value cut, as many as the budget says. @throws as cutLowest()
    PruningMask cutBy(const Matrix& values) const;
    /// @throws as cutLowest(), if the budget cannot be met whatever the values
    void checkBudget() const;
    /// Values of the metric that the request ranks by, measured on the dense model. @throws as measure()
    MetricResult measureMetric() const;
};

/// Cuts units drawn uniformly at random.
PruneResult runRandom(const PruneContext& context);
/// Measures the metric of the request on the dense model and cuts one end of its ranking.
PruneResult runRanking(const PruneContext& context);

/// Runs a strategy to a mask. The same request gives the same mask.
/// @throws UsageError as cutLowest() and Protection::parse(), before anything is measured where possible; Error when an
/// input is missing or measuring fails; Cancelled
PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs, const Progress& progress);

/// The mask of a ranking strategy from known values of its metric. @throws as cutLowest()
PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values);

/// Passes through the model that a strategy makes over its calibration text; 0 where it needs none.
/// @throws UsageError when the budget cannot be met
double calibrationPasses(const ModelSpec& spec, const PruneRequest& request);

/// "50 heads in 50 steps: loss 2.31 -> 2.35 nats/token", of the steps that the mask holds, then of those behind them.
std::string sentence(const PruneHistory& history);

/// For the mask's record: strategy, options (`protect` among them), budget, seed, time and version.
/// @param base name or file of the mask that was extended; recorded where that mask cuts anything
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base);
/// The same with the text and the history of the result.
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result);

/// Which units to cut by their values. Needs no model, and is fast enough to follow a slider.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget;         ///< a share counts all units of the model, protected and cut ones too, and is rounded down
    bool perLayer = false; ///< apply the budget to each layer that has a unit that can be cut
};

/// Extends a mask by the units of lowest (or highest) value; of equal values the lowest layer, then the lowest index is
/// cut first. Units that are protected, already cut or without a value (NaN) cannot be cut, and only new cuts count
/// against the budget. Layers that share their weights count once, with the mean of their values.
/// @param values rows = layers, columns = units of a layer; one column for sublayers and blocks
/// @throws UsageError when the budget is no whole number of units, no share from 0 to 100 %, or larger than possible
/// (names the largest possible one). Error when the values or the mask have another structure
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// Extends a mask by all units with values up to a bound (from a bound on, when the highest are cut first), inclusive.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Number of units that `after` cuts and `before` does not; layers that share their weights count once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Number of units of the model; layers that share their weights count once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn uniformly from [0, 1), the same for the same seed with any standard library. Cutting the lowest of them
/// cuts at random, and a larger budget contains a smaller one.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks. @throws UsageError when it ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
