#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/training/training_set.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The loss of a sequence.
struct ExampleLoss {
    double nats = 0;          ///< sum over the targets
    std::int64_t targets = 0; ///< number of targets; of classifiers 1
    bool isRight = false;     ///< classifiers: whether the likeliest class is the label
};

/// The losses of sequences under a mask, without an adapter. In the order of the examples. @throws Error; Cancelled
std::vector<ExampleLoss> exampleLosses(const Model& model, const PruningMask& mask,
                                       std::span<const TrainingExample> examples, const Progress& progress = {});
/// The losses of sequences with a plan of the model.
std::vector<ExampleLoss> exampleLosses(const Model& model, const Plan& plan, std::span<const TrainingExample> examples,
                                       const Progress& progress);

/// The losses of classified texts. @param x [rows, positions, hidden] output of the last layer @param labels [rows]
std::vector<ExampleLoss> classifierLosses(const Runner& runner, const Plan& plan, const at::Tensor& x,
                                          const Batch& batch, std::span<const int> labels);

/// The mean loss over all targets, in nats; NaN without a target.
double meanNats(std::span<const ExampleLoss> losses);
/// The share of texts whose likeliest class is the label, 0 to 1; NaN without a text.
double accuracyOf(std::span<const ExampleLoss> losses);

} // namespace secateur
