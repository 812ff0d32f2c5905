#pragma once

#include "analysis/evaluation/perplexity.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/metric.h"

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

inline constexpr double notMeasured = std::numeric_limits<double>::quiet_NaN();

/// A metric of a task at a point, and its difference from the dense model on the same questions.
struct PointMetric {
    std::string task; ///< TaskEvaluation::name
    std::string id;   ///< TaskMetric::id
    double value = 0;
    double standardError = 0;                ///< NaN for a single question
    double delta = notMeasured;              ///< value minus that of the dense model; NaN at the dense point
    double deltaStandardError = notMeasured; ///< of the paired differences
};

/// Units that a mask removes. All units of a dropped block or sublayer count.
struct RemovedUnits {
    int heads = 0;
    int kvHeads = 0;
    std::int64_t neurons = 0;
    int attention = 0;
    int mlps = 0;
    int blocks = 0;
    int bypassed = 0; ///< attention sublayers that are bypassed with an alpha above 0

    bool operator==(const RemovedUnits&) const = default;
};

/// What identifies a point of a curve.
struct PointKey {
    Budget budget = {};
    std::string compensation = "own";       ///< name of a CompensationMode
    std::string recovered = {};             ///< name of a recovery training (SweepRecovery::name); empty = none
    int repetition = 0;                     ///< from 0
    std::optional<std::uint64_t> seed = {}; ///< only for strategies whose mask depends on it

    bool operator==(const PointKey&) const = default;
};

/// The order of points in a curve: by the kind and the amount of the budget, then by the other fields.
bool comesBefore(const PointKey& one, const PointKey& other);

/// One mask of a strategy, and all that was measured under it. Numbers that were not measured are NaN.
struct CurvePoint {
    PointKey key = {};
    /// The largest budget that the strategy can reach, if it is smaller than key.budget. The mask was made with it.
    std::optional<Budget> reached = {};
    std::string mask = {}; ///< digest: "dense", "sha256:...", or empty = not chosen yet
    RemovedUnits removed = {};
    std::int64_t parameters = 0;             ///< number of parameters that the mask keeps
    double kvBytesPerToken = 0;              ///< bytes of the KV cache per token, in 16 bits
    double operationsPerToken = 0;           ///< multiplications and additions, at CurveConditions::positions
    double lossNats = notMeasured;           ///< per token (wordPpl: per word) of the scored text
    double deltaNats = notMeasured;          ///< lossNats minus that of the dense model
    double deltaStandardError = notMeasured; ///< of the paired differences, over windows (wordPpl: pages)
    double perplexity = notMeasured;         ///< exp(lossNats)
    double pooledDistance = notMeasured;     ///< PooledDistance::relative; encoders without a head
    double pooledStandardError = notMeasured;
    std::vector<PointMetric> tasks = {};
    double tokensPerSecond = notMeasured; ///< new tokens per second of generation, median run
    /// Seconds until the mask was chosen. They include measured metrics and smaller budgets on the way.
    double choosingSeconds = notMeasured;
    double scoringSeconds = notMeasured;  ///< seconds of losses and tasks; 0 if another point has the same mask
    double trainingSeconds = notMeasured; ///< seconds of the recovery training; only of recovered points
    std::string error = {};               ///< sentence about the failure of this point; empty = none

    bool isChosen() const { return !mask.empty(); }
    /// The value of a task's metric; null if it was not measured.
    const PointMetric* metric(std::string_view task, std::string_view id) const;
};

/// The points of one strategy, in the order of comesBefore().
struct Curve {
    std::string strategy; ///< result id of the strategy (StrategyRequest::resultId())
    std::vector<CurvePoint> points;

    const CurvePoint* point(const PointKey& key) const;
};

/// The text whose losses are compared. Of an encoder without a head, the sequences whose pooled outputs are compared.
struct ScoredSource {
    std::string source; ///< file or folder, or "built-in"
    std::string digest; ///< digest of the token ids of all windows; empty = no text was scored
    std::int64_t tokens = 0;
    std::int64_t windows = 0;
    PerplexityRules rules = {}; ///< with defaults filled in
};

/// What all points of a set of curves have in common.
struct CurveConditions {
    MeasuredData calibration;      ///< text on which strategies and their metrics measure
    std::string calibrationDigest; ///< digest of its tokens
    ScoredSource scored;
    std::string dtype;
    std::string device;
    std::string protect = "none";       ///< text for Protection::parse()
    std::string baseDigest = "dense";   ///< digest of the mask that strategies extend
    int positions = 1024;               ///< length of the sequence for which operations are counted
    bool scoresCalibrationText = false; ///< whether both texts were named and are equal

    /// Whether masks that were chosen under these conditions would be chosen under the others too.
    bool choosesLike(const CurveConditions& other) const;
    /// Whether points can belong to the same curve. Names of files are not compared, but digests are.
    bool isLike(const CurveConditions& other) const;
};

/// A task of a set of curves.
struct CurveTask {
    std::string name;
    std::string source;         ///< path of the task file
    std::string format;         ///< id in taskFormats()
    std::string digest;         ///< digest of the questions and the rules
    std::int64_t questions = 0; ///< number of questions that were asked

    bool operator==(const CurveTask&) const = default;
};

/// The lengths with which tokens per second were measured.
struct CurveLatency {
    int promptTokens = 0;
    int newTokens = 0;

    bool operator==(const CurveLatency&) const = default;
};

/// The curves of a sweep: strategies, budgets and repetitions under the same conditions.
struct Curves {
    CurveConditions conditions = {};
    std::vector<CurveTask> tasks = {};
    std::optional<CurveLatency> latency = {};
    CurvePoint dense = {};          ///< the dense model, with a budget of 0
    std::vector<Curve> curves = {}; ///< sorted by Curve::strategy
    std::vector<std::string> warnings = {};

    const Curve* curve(std::string_view strategy) const;
    /// Whether masks are scored, not only chosen.
    bool areScored() const { return !conditions.scored.digest.empty() || !tasks.empty(); }
};

/// Whether the points of two sets of curves can be in one: like conditions, no task of the same name with other
/// questions, and the same lengths of generation.
bool canJoin(const Curves& one, const Curves& other);

/// Adds points to the set of curves that they can join, or as a new set. A point replaces one with the same key; what
/// it lacks is kept if the two have the same mask.
void add(std::vector<Curves>& all, const Curves& more);
/// add() to one set of curves. @param more canJoin(all, more)
void join(Curves& all, const Curves& more);

/// The digests of the masks of all points.
std::set<std::string> masksOfCurves(const std::vector<Curves>& all);

/// The units that a price counts as removed.
RemovedUnits removedUnits(const Price& price);

} // namespace secateur
