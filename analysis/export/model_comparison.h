#pragma once

#include "analysis/base/progress.h"
#include "analysis/export/export_card.h"
#include "analysis/model/model.h"
#include "analysis/running/batch.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// Tokens that any model of this spec can run: four rows of up to 64 positions, drawn uniformly from the vocabulary
/// with a fixed seed.
Batch probeTokens(const ModelSpec& spec);

/// What a model computes for a batch.
struct RecordedRun {
    std::vector<at::Tensor> streams; ///< X_0 to X_layers [rows, positions, hidden] float32
    /// The logits of each row; for encoders the class scores or the pooled output; empty for a decoder without LM head.
    std::vector<at::Tensor> logits;
};

/// Runs a model one layer at a time. @param plan plan of model.runner()
RecordedRun recordRun(const Model& model, const Plan& plan, const Batch& batch, const Progress& progress);

/// Largest differences between the steps of two models with equal inputs: the updates of the residual stream by each
/// layer, and the logits. Unlike differences of logits they are not magnified by later layers. Infinite if a number is
/// NaN.
struct StepDifference {
    double layer = 0;    ///< of the updates, relative to the largest number of the layer's update
    double position = 0; ///< of the updates and of the logits, relative to their largest number at the position
};

/// Rounded weights change the steps little, but weights in the wrong place change them much.
/// @param plan plan of second.runner() @param layers for each layer of the second model, the layer of the first
StepDifference stepDifference(const RecordedRun& first, const Model& second, const Plan& plan,
                              std::span<const int> layers, const Batch& batch);

/// Runs a second model and compares its logits with those of the first, or their last residual streams if the first has
/// no logits. So that the weights of only one model need to be in memory, the first has run before.
/// @param plan plan of second.runner() @param layers for each layer of the second model, in order, the layer of the
/// first after which their residual streams must be equal
LogitDifference compareLogits(const RecordedRun& first, const Model& second, const Plan& plan,
                              std::span<const int> layers, const Batch& batch, const Progress& progress);

} // namespace secateur
