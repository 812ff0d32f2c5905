#pragma once

#include "analysis/model/model.h"
#include "analysis/base/progress.h"
#include "analysis/strategies/strategy.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What a strategy is asked for.
struct PruneRequest {
    StrategyRequest strategy;
    Budget budget;
    std::string protect = "none";    ///< as Protection::parse reads it
    std::uint64_t seed = 0;          ///< of random strategies
    std::optional<PruningMask> base; ///< to cut further; none = the whole model
};

struct PruneResult {
    PruningMask mask;
    std::optional<MetricResult> metric;    ///< that a ranking strategy measured, on the whole model whatever the base
    std::optional<PruneHistory> history{}; ///< of a strategy that measures again after each step
    std::optional<MeasuredData> data{};    ///< what that one measured on
    std::vector<std::string> warnings{};
};

/// Measures the metric of a strategy.
using MeasureDoor = std::function<MetricResult(const Model&, const MetricRequest&, const Progress&)>;

/// Runs a strategy to a mask. The same request gives the same mask.
/// @param measureOn for metrics that need a text; without it, they are an Error
/// @throws UsageError as cutLowest and Protection::parse, before anything is measured where that can be told; Error,
/// also for strategies that measure again after each step (pruneGreedily); Cancelled
PruneResult prune(const Model& model, const PruneRequest& request, const Progress& progress,
                  const MeasureDoor& measureOn = {});

/// The same from values that are there already, of the metric that the request names. @throws as cutLowest
PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values);

/// What by_metric is asked for, to cut by a metric from whichever end. @throws UsageError as parseStrategyRequest()
StrategyRequest byMetric(const MetricRequest& metric, bool highestFirst, bool perLayer);

/// "50 heads in 50 steps: loss 2.31 -> 2.35 nats/token", of what the mask holds, and to where more was measured.
std::string sentence(const PruneHistory& history);

/// For the mask's record: strategy, options (what is protected among them), budget, seed, time and version.
/// @param base what the mask that was cut further is called, where it cuts anything: its file, or its name
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base);
/// The same with what came of it: the text, and the history.
MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result);

} // namespace secateur
