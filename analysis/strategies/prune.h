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
    std::string protect = "none";    ///< text for Protection::parse()
    std::uint64_t seed = 0;          ///< used only by strategies with needsSeed
    std::optional<PruningMask> base; ///< mask to extend; empty = the dense model
};

struct PruneResult {
    PruningMask mask;
    std::optional<MetricResult> metric = {};  ///< values of a ranking strategy's metric for the dense model
    std::optional<PruneHistory> history = {}; ///< steps of a strategy that works in steps
    std::optional<MeasuredData> data = {};    ///< text on which a strategy that works in steps measured
    std::vector<std::string> warnings = {};
};

/// Measures a metric on the dense model.
using MeasureMetric = std::function<MetricResult(const MetricRequest& metric, const Progress& progress)>;

/// The text on which a strategy measures during its steps.
struct CalibrationText {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {};     ///< classes of the sequences, as in GradientRun::labels
    std::int64_t batchTokens = 4096;      ///< maximum tokens of a batch, as in GradientRun::batchTokens
    std::int64_t streamBytes = 1LL << 30; ///< maximum for storing streams between steps; beyond it none are stored
    ComputeType type = ComputeType::automatic;
    std::optional<MeasuredData> data = {}; ///< recorded in the provenance of the mask
};

/// Inputs of strategies in addition to the model and the request.
struct PruneInputs {
    MeasureMetric measure = {};               ///< empty = only weight metrics can be measured
    std::optional<CalibrationText> text = {}; ///< used by strategies with StrategyInfo::steps
};

/// The argument of StrategyInfo::run().
struct PruneContext {
    const Model& model;
    const PruneRequest& request;
    const PruneInputs& inputs;
    PruningMask base; ///< mask to extend
    Protection protection;
    const Progress& progress;

    /// The base in which the units with the lowest (or highest) values are cut, as many as the budget says. @throws as
    /// cutLowest()
    PruningMask cutBy(const Matrix& values) const;
    /// Checks the budget. @throws as cutLowest() if the budget cannot be met with any values
    void checkBudget() const;
    /// Values of the request's metric, measured on the dense model. @throws as measure()
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

/// A history as text: "50 heads in 50 steps: loss 2.31 -> 2.35 nats/token". It describes the steps whose cuts the mask
/// has, then steps that were undone.
std::string sentence(const PruneHistory& history);

/// The provenance of a mask: strategy, options (including `protect`), budget, seed, time and version.
/// @param base name or file of the mask that was extended; recorded only if this mask cuts something
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base);
/// provenanceOf() with the text and the history of the result.
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result);

/// Rules for choosing the units to cut by their values.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget;         ///< a percentage is one of all units, including protected and cut ones, and is rounded down
    bool perLayer = false; ///< whether the budget applies to each layer that has units to cut, not to the model
};

/// Adds cuts of the units with the lowest (or highest) values to a mask. Of equal values, the unit of the lowest layer,
/// and in it the lowest index, is cut first. Units that are protected, already cut or without a value (NaN) cannot be
/// cut. The budget counts new cuts only. Layers that share their weights count once, with the mean of their values. It
/// needs no model, and is fast enough to follow a slider.
/// @param values [layers, units of a layer]; one column for sublayers and blocks
/// @throws UsageError if the budget is a count that is negative or not whole, a percentage outside 0 to 100, or larger
/// than possible (the message then states the largest possible budget); Error if `values` or `base` do not match the
/// structure of `spec`
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// Adds cuts of all units whose value is at most `bound`; at least `bound` if the highest are cut first. The budget of
/// `order` is ignored.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Number of units that `after` cuts and `before` keeps. Layers that share their weights count once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Number of units of a kind in the model. Layers that share their weights count once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn uniformly from [0, 1). A seed gives the same values with any standard library. Cutting the units with
/// the lowest values cuts at random, and the cuts of a larger budget include those of a smaller one.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks (MetricInfo::ranks). @throws UsageError if the metric ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
