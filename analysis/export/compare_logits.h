#pragma once

#include "analysis/running/batch.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"

namespace secateur {

/// How far apart what two models read out is.
struct LogitDifference {
    double most = 0;  ///< the largest difference of two numbers; infinite where one is none
    double scale = 0; ///< the largest number of the first model
    int tokens = 0;   ///< that ran
    double relative() const { return scale > 0 ? most / scale : most; }
};

/// Tokens that any model of this spec can run: four rows, of 64 each where it takes as many, drawn evenly from its
/// vocabulary and the same every time.
Batch probeTokens(const ModelSpec& spec);

/// Runs both side by side, one layer at a time, and compares their logits (classes, pooled output); the streams behind
/// the last layer where a decoder has no read-out.
/// @param plan of first.runner() @param otherPlan of second.runner(); both models have the same spec
LogitDifference compareLogits(const Model& first, const Plan& plan, const Model& second, const Plan& otherPlan,
                              const Batch& batch, const Progress& progress);

} // namespace secateur
