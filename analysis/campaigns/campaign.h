#pragma once

#include "analysis/base/cluster.h"
#include "analysis/base/progress.h"
#include "analysis/campaigns/curves.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/model.h"
#include "analysis/strategies/strategy.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/tokenizer.h"
#include "analysis/training/training_forecast.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

struct PruneInputs;
struct PruneRequest;

/// A strategy with its budgets.
struct SweepSeries {
    StrategyRequest strategy;
    std::vector<Budget> budgets;
    int repetitions = 1; ///< for strategies whose mask depends on the seed; the others run once
};

/// The user's choice of the points of a sweep.
struct SweepRequest {
    std::vector<SweepSeries> series;
    std::uint64_t seed = 0; ///< seed of the first repetition; each further one adds 1
    std::string protect = "none";            ///< text for Protection::parse()
    std::optional<PruningMask> base = {};    ///< mask that all strategies extend; empty = the dense model
    std::string baseName = {};               ///< name or file of `base`, for the provenance of masks
    int positions = 1024;                    ///< length of the sequence for which operations are counted
    std::vector<std::string> compensations{"own"}; ///< names of modes, as PointKey::compensation
    int part = 1;  ///< which of `parts` parts of the points to run, from 1
    int parts = 1; ///< part i has the points i, i + parts, i + 2 parts and so on
    bool choosesOnly = false; ///< whether masks are chosen but not scored
    bool retriesFailed = false; ///< whether points that failed in an earlier run are run again
};

/// Names of compensation modes, separated by commas. @throws UsageError for others
std::vector<std::string> parseCompensations(std::string_view list);
/// Reads "3/16". @throws UsageError
void parsePart(std::string_view text, SweepRequest& request);

/// A model that was trained under a mask.
struct RecoveredModel {
    std::shared_ptr<const Model> model; ///< with its adapter; it runs under the same mask
    double seconds = 0;                 ///< of all steps of the training, also of those of earlier sweeps
    std::vector<std::string> warnings = {};
};

/// The recovery training of a sweep. Each point gets a second one with the same mask, which is scored after training.
struct SweepRecovery {
    std::string name;          ///< as PointKey::recovered: recipe with the options that replace its own
    TrainingSettings settings; ///< for the cost
    TrainingSize size;         ///< of the data, for the cost
    /// Trains under a mask, or continues a training that was stopped; a training that is done is read.
    /// @param digest of the mask @throws Error; Cancelled
    std::function<RecoveredModel(const PruningMask& mask, const std::string& digest, const Progress& progress)> train;
};

struct SweepNews;

/// Processes that share a sweep. Each rank chooses the masks of whole strategies and repetitions, and scores whole masks.
struct SweepRanks {
    const Cluster* cluster = nullptr; ///< null = a single process
    std::function<std::string(const SweepNews& news)> pack = {};
    std::function<SweepNews(std::string_view bytes)> unpack = {};
};

/// What strategies are calibrated on, and what masks are scored on. All of it is read before the sweep.
struct SweepInputs {
    SequenceText calibration;
    std::optional<EvaluationText> scored = {}; ///< decoders only
    std::optional<SequenceText> pooled = {};   ///< sequences for pooled distances; encoders without a head only
    std::vector<AskedTask> tasks = {};
    std::shared_ptr<const Tokenizer> tokenizer = {}; ///< null if there are no tasks
    std::optional<LatencyRules> latency = {};        ///< empty = no times are measured
    bool scoresCalibrationText = false;              ///< as CurveConditions::scoresCalibrationText
    ComputeType type = ComputeType::automatic;
    std::int64_t batchTokens = 4096;      ///< maximum tokens of a batch
    std::int64_t streamBytes = 1LL << 30; ///< maximum bytes of residual streams, for choosing and for scoring
    /// The digest of a mask: "dense" if it cuts nothing, otherwise "sha256:...".
    std::function<std::string(const PruningMask&)> maskDigest;
    /// The digest of a task and its rules.
    std::function<std::string(const AskedTask&)> taskDigest;
    /// The digest of a calibration text; for chooseOnParts() only.
    std::function<std::string(const SequenceText&)> textDigest = {};
    /// Adds inputs of a strategy that depend on files. May be empty.
    std::function<void(const PruneRequest&, PruneInputs&)> extend = {};
    std::optional<SweepRecovery> recovery = {}; ///< empty = no point is recovered
    std::vector<std::string> warnings = {};     ///< kept with the curves
    SweepRanks ranks = {};
};

/// Results of earlier sweeps of the model. They are not computed again.
struct SweepKnown {
    std::span<const Curves> curves = {};
    std::span<const MetricResult> results = {};
    std::span<const Evaluation> evaluations = {};
    /// The mask with a digest; null if there is none. May be empty.
    std::function<const PruningMask*(std::string_view digest)> mask = {};
};

/// A mask that a strategy chose.
struct ChosenMask {
    std::string name; ///< "random_head 12.5% #2": strategy, budget, and the repetition if there are several
    std::string digest;
    MaskRecord record;
};

/// What a sweep has just found, to be stored. Points that are repeated have more numbers than before.
struct SweepNews {
    std::vector<MetricResult> results = {};
    std::vector<ChosenMask> masks = {};
    std::vector<Evaluation> evaluations = {}; ///< of the dense model, with its losses and answers
    std::optional<Curves> curves = {};        ///< the points that changed, with their conditions
};
using SweepSink = std::function<void(const SweepNews& news)>;

/// A point that a sweep still has to work on.
struct PlannedPoint {
    std::size_t series = 0; ///< index in SweepRequest::series
    PointKey key;
    bool isChosen = false;    ///< whether the mask is known
    bool needsText = false;   ///< whether the text (or pooled outputs) has to be scored
    bool needsTasks = false;  ///< whether a task has to be run
    bool needsLatency = false;
};

/// The points of a sweep, and the work that is left.
struct SweepPlan {
    Curves known;                     ///< conditions, and all points of the request that are known in part or whole
    std::size_t points = 0;           ///< number of points of this part of the sweep
    std::size_t failed = 0;           ///< points that failed in an earlier run and are left as they are
    std::vector<PlannedPoint> left = {}; ///< by strategy, repetition and budget
    bool needsDense = false;          ///< whether the dense model has to be scored or timed
    std::vector<MetricRequest> metrics = {}; ///< metrics to measure for rankings, those that run the model last

    bool isDone() const { return left.empty() && !needsDense; }
};

/// Finds out what there is to do. Runs nothing. @throws UsageError for a request without points, for a protection that
/// does not suit the model, and for inputs on which the model cannot be scored
SweepPlan planSweep(const Model& model, const SweepRequest& request, const SweepInputs& inputs,
                    const SweepKnown& known);

/// The expected cost of a plan. It is an upper bound where masks are not known yet, because runs share layers.
struct SweepCost {
    double choosingPasses = 0; ///< forward passes over the calibration text
    double scoringPasses = 0;  ///< forward passes over the scored text
    double choosingSeconds = 0;
    double scoringSeconds = 0;  ///< losses, tasks and latency
    int trainings = 0;          ///< number of recovery trainings
    double trainingTokens = 0;  ///< tokens that each of them trains on
    double trainingSeconds = 0; ///< of all recovery trainings
    double seconds() const { return choosingSeconds + scoringSeconds + trainingSeconds; }
};
/// Times a layer and the LM head. @throws Error as runSpeed(); Cancelled
SweepCost costOf(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepPlan& plan,
                 const Progress& progress = {});

/// Runs the plan: first chooses the masks of all points, then scores them, in an order in which consecutive masks have
/// as many first layers in common as possible. Recovered points come last, each after its training. Calls the sink
/// after each point of either stage. An Error at a point is recorded in the point (CurvePoint::error), and the sweep
/// goes on. The same request gives the same results but for times, however often it was stopped, and for any number of
/// ranks. The sink is called on all ranks; on rank 0 as soon as results arrive.
/// @param cost divides the progress between the two stages
/// @returns the curves of the request, including known points
/// @throws Error if the dense model cannot be scored; Cancelled
Curves runSweep(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                const SweepPlan& plan, const SweepCost& cost, const SweepSink& sink, const Progress& progress = {});

/// An order of masks in which each mask has as many first layers in common with the mask before it as possible. Of the
/// masks that begin alike, those that keep a layer whole come first.
/// @returns indices of the masks
std::vector<std::size_t> sharingOrder(std::span<const PruningMask> masks);

} // namespace secateur
