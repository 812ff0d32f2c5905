#pragma once

#include "analysis/running/backward_walk.h"
#include "analysis/model/model.h"
#include "analysis/strategies/prune.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <span>

namespace secateur {

/// What a strategy that measures again after each step measures on.
struct GreedyRun {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {};     ///< as GradientRun
    std::int64_t batchTokens = 4096;      ///< as GradientRun
    std::int64_t streamBytes = 1LL << 30; ///< most that streams may take from step to step; if more, all layers run
    ComputeType type = ComputeType::automatic;
};

/// Into how many steps a budget falls. @throws UsageError as pruneGreedily()
std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request);

/// Greedy-Gnorm and its inverse (methods.md 4.2): measures the gradient norms of all heads that the mask so far leaves,
/// cuts the lowest of them (inverse: the highest), as many as go in a step, and again, until stop= is reached. Of equal
/// ones the first; a head without gradient is the lowest. Heads of layers that share their weights go everywhere at
/// once. After each step it records how good the model still is on the same texts (GreedyQuality).
/// Steps reuse the streams below the layer that they change: numbers are those of running all layers.
/// @returns the mask with its history @throws UsageError as cutLowest and Protection::parse, before anything is
/// measured where that can be told, and as measureGradient(); Error; Cancelled: then there is nothing
PruneResult pruneGreedily(const Model& model, const PruneRequest& request, const GreedyRun& run,
                          const Progress& progress);

} // namespace secateur
