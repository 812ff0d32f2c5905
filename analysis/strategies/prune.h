#pragma once

#include "analysis/base/matrix.h"
#include "analysis/base/progress.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/cut_order.h"
#include "analysis/strategies/strategy.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
    int positions = 1024;            ///< sequence length for which budgets in operations are counted
};

struct PruneResult {
    PruningMask mask;
    std::optional<MetricResult> metric = {};  ///< values of a ranking strategy's metric for the dense model
    std::optional<PruneHistory> history = {}; ///< steps of a strategy that works in steps
    std::optional<MeasuredData> data = {};    ///< text on which a strategy that reads a text measured
    std::string textDigest = {};              ///< digest of that text
    std::vector<std::string> warnings = {};
    std::vector<OrderedCut> order = {};       ///< the cuts of a ranking strategy, first cut first
    std::vector<std::string> notes = {};      ///< sentences about choices that the strategy made, for the provenance
    std::vector<AlphaCurve> alphaCurves = {}; ///< of a strategy that searches the factors of bypasses
    /// The percentage that was saved when PruneWatch::isEnough ended the strategy. Empty = the budget was spent.
    std::optional<double> stoppedAt = {};
};

/// Measures a metric on the dense model.
using MeasureMetric = std::function<MetricResult(const MetricRequest& metric, const Progress& progress)>;

/// The text on which a strategy measures by itself.
struct CalibrationText {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {};     ///< classes of the sequences, as in GradientRun::labels
    std::int64_t batchTokens = 4096;      ///< maximum tokens of a batch, as in GradientRun::batchTokens
    std::int64_t streamBytes = 1LL << 30; ///< maximum for storing streams between steps; beyond it none are stored
    ComputeType type = ComputeType::automatic;
    std::optional<MeasuredData> data = {}; ///< recorded in the provenance of the mask
    std::string digest = {};               ///< digest of the tokens, recorded too
};

/// The state of a strategy after one of its steps.
struct PruneStep {
    PruningMask mask;      ///< with its compensation
    std::size_t steps = 0; ///< number of steps so far
    double before = 0;     ///< loss before the first step, in nats
    double loss = 0;       ///< loss after this step, in nats
    double saved = 0;      ///< percentage of what the budget counts
    double target = 0;     ///< percentage to save in the end
};

/// The price of a possible step, as a strategy with StrategyInfo::reportsSteps measured it.
struct StepPrice {
    BudgetOf of = BudgetOf::own; ///< what the step saves
    int layer = 0;               ///< -1 = all layers
    int kind = 0;                ///< number of the kind of step
    bool isEstimate = false;     ///< whether only a part of the text was used
    bool isGone = false;         ///< whether there is no such step; the other numbers are then 0
    double saved = 0;            ///< percentage of what the budget counts
    double rise = 0;             ///< of the loss, in nats
    double loss = 0;             ///< after the step, in nats
    bool operator==(const StepPrice&) const = default;
};

/// Follows a strategy with StrategyInfo::reportsSteps while it runs. The functions are called on its thread.
struct PruneWatch {
    std::function<void(const PruneStep& step)> made = {}; ///< after each step
    /// Called after each step. Whether to stop; the result is then the mask so far.
    std::function<bool()> isEnough = {};
    /// Called with prices in the order in which they were measured.
    std::function<void(std::span<const StepPrice> prices)> priced = {};
    /// The prices of an interrupted run of the same request. They are not measured again, and the mask is the same as
    /// without the interruption.
    std::vector<StepPrice> known = {};
};

/// Inputs of strategies in addition to the model and the request.
struct PruneInputs {
    MeasureMetric measure = {};               ///< empty = only weight metrics can be measured
    std::optional<CalibrationText> text = {}; ///< used by strategies with StrategyInfo::readsText
    /// The text of the option `corpus`, on which a strategy makes choices that must not use `text`.
    std::optional<CalibrationText> corpus = {};
    PruneWatch watch = {};
    /// Bytes of the weight files of an export under a mask, for budgets in bytes. Empty = such budgets are refused.
    std::function<double(const PruningMask& mask)> fileBytes = {};
};

class Savings;

/// The argument of StrategyInfo::begin(). It must outlive the path.
struct PruneContext {
    const Model& model;
    const PruneRequest& request;
    const PruneInputs& inputs;
    PruningMask base; ///< mask to extend
    Protection protection;
    /// Whether the budget of the request is checked before anything is measured. A sweep has many budgets and does not.
    bool checksBudget = true;
    /// What masks save beyond the base (budget.h). One for all budgets, so that sublayers are timed at most once.
    std::shared_ptr<const Savings> savings = {};

    const ModelSpec& spec() const { return model.spec(); }
    /// Checks a budget in units before anything is measured. @throws BudgetTooLarge if it cannot be met with any values
    void checkUnits() const;
    /// Values of a metric on the dense model. @throws as measure()
    MetricResult measure(const MetricRequest& metric, const Progress& progress) const;
};

/// Two masks whose savings are the least and the most that a mask can save. They may be equal.
struct SavingsBounds {
    PruningMask least;
    PruningMask most;
};

/// The masks of a strategy for one model and one text, from no cut to all cuts that the strategy can make. What a
/// larger and a smaller budget have in common is measured once.
class PrunePath {
public:
    virtual ~PrunePath() = default;

    /// The largest number of steps. resources/manual/strategies.md says what a step is.
    virtual std::size_t steps() const = 0;
    /// The result after a number of steps. @throws Error if measuring fails; Cancelled, after which the path can go on
    virtual PruneResult after(std::size_t steps, const Progress& progress) = 0;
    /// The result for a budget in the strategy's own units.
    /// @throws BudgetTooLarge, UsageError for budgets that are not in these units; otherwise as after()
    virtual PruneResult spend(const Budget& budget, const Progress& progress) = 0;
    /// For strategies whose cuts depend on the budget: the result for a budget in a share of the model. It saves less
    /// than the share if no unit is left to cut. Empty = the budget is a number of steps. @throws as after()
    virtual std::optional<PruneResult> spendShare(const Budget& /*budget*/, const Savings& /*savings*/,
                                                  const Progress& /*progress*/) {
        return std::nullopt;
    }
    /// Whether each step needs a measurement under the cuts of the steps before it.
    virtual bool measuresSteps() const { return false; }
    /// The mask after all steps, if it is known without measuring.
    virtual std::optional<PruningMask> everything() const { return std::nullopt; }
    /// Bounds of the savings of after(steps), if they are known without measuring.
    virtual std::optional<SavingsBounds> savingsBounds(std::size_t /*steps*/) const { return std::nullopt; }
    /// The largest number of steps during which savings can stay below those of an earlier step.
    virtual std::size_t longestDip() const { return 0; }
};

/// The context of a request. The arguments before `progress` must outlive it.
/// @param progress can cancel the timing of sublayers
/// @throws UsageError as Protection::parse(); Error if a text is missing
PruneContext contextOf(const Model& model, const PruneRequest& request, const PruneInputs& inputs,
                       const Progress& progress = {});

/// Makes a mask by a strategy. The same request gives the same mask.
/// @throws BudgetTooLarge, and UsageError as Protection::parse(), if possible before anything is measured; Error if an
/// input is missing or measuring fails; Cancelled
PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs, const Progress& progress);

/// The mask of a ranking strategy from known values of its metric, for a budget in units. @throws as cutLowest()
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

} // namespace secateur
