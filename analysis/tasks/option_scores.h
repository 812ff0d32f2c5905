#pragma once

#include "analysis/model/model.h"
#include "analysis/tasks/option_tokens.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// What a model makes of a continuation.
struct OptionScore {
    double logProbability = 0; ///< of all its tokens, in nats
    bool isGreedy = true;      ///< whether each of them was the likeliest
};

/// Scores options: equal inputs once, beginnings that options and questions share once, in batches of like length.
/// Numbers are those of one option after the other, but for rounding in other batches.
/// @param plan of model.runner() @param questions options of each
/// @param batchTokens that run at once, padding included; bounds memory, decides nothing else
/// @returns a score for each option
/// @throws Error for encoders, and where the model gives no finite number; Cancelled within the time that one layer
/// takes for one batch
std::vector<std::vector<OptionScore>> scoreOptions(const Model& model, const Plan& plan,
                                                   std::span<const std::vector<OptionTokens>> questions,
                                                   std::int64_t batchTokens = 4096, const Progress& progress = {});

} // namespace secateur
