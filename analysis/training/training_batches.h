#pragma once

#include "analysis/running/padded_batches.h"
#include "analysis/training/training_set.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Training sequences in padded batches, with their targets.
struct TrainingBatches {
    PaddedBatches padded;
    std::vector<std::vector<int>> targets; ///< for each batch, as arguments of Runner::lossGradient()
};

/// Examples as sequences that are numbered in their order.
std::vector<TokenSequence> sequencesOf(std::span<const TrainingExample* const> examples);
/// @param batchTokens as for paddedBatches()
TrainingBatches trainingBatches(std::span<const TrainingExample* const> examples, std::int64_t batchTokens);

std::vector<const TrainingExample*> pointersTo(std::span<const TrainingExample> examples);
/// @param indices of examples in the set
std::vector<const TrainingExample*> pointersTo(const TrainingSet& set, std::span<const std::size_t> indices);

} // namespace secateur
