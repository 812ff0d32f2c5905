#pragma once

#include "analysis/weights/checkpoint_statistics.h"

#include <string>
#include <vector>

namespace secateur {

// The JSON documents of `inspect --statistics` and `inspect --compare` (resources/manual/formats.md, JSON output).

/// The tensors of a checkpoint with their statistics and histograms.
std::string statisticsJson(const StoredTensors& tensors, const std::vector<TensorReport>& reports);

/// The pairs of two checkpoints with their differences, and the tensors that only one of them has.
std::string comparisonJson(const StoredTensors& first, const StoredTensors& second, const TensorPairs& pairs,
                           const std::vector<PairReport>& reports);

} // namespace secateur
