#pragma once

#include "analysis/base/progress.h"
#include "analysis/weights/stored_tensors.h"
#include "analysis/weights/tensor_comparison.h"
#include "analysis/weights/tensor_statistics.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// The statistics of a tensor of a checkpoint.
struct TensorReport {
    std::size_t tensor = 0;                     ///< index in StoredTensors::tensors()
    std::optional<TensorStatistics> statistics; ///< absent = see `obstacle`
    std::string obstacle;                       ///< why there are none: "is stored as IQ1_S, which is not supported"
};

/// The statistics of all tensors, in their order. @param done called on this thread after each tensor; may be null
/// @throws Error if a file was truncated; Cancelled
std::vector<TensorReport> checkpointStatistics(const StoredTensors& tensors, const Progress& progress = {},
                                               const std::function<void(const TensorReport&)>& done = nullptr);

/// The difference of a pair of tensors.
struct PairReport {
    TensorPair pair;
    std::optional<TensorDifference> difference; ///< absent = see TensorPair::obstacle
};

/// The differences of all pairs, in their order. @param done called on this thread after each pair; may be null
/// @throws Error if a file was truncated; Cancelled
std::vector<PairReport> checkpointDifferences(const StoredTensors& first, const StoredTensors& second,
                                              const TensorPairs& pairs, const Progress& progress = {},
                                              const std::function<void(const PairReport&)>& done = nullptr);

/// CSV (RFC 4180) with one line for each tensor.
std::string statisticsCsv(const StoredTensors& tensors, const std::vector<TensorReport>& reports);
/// CSV with one line for each bin of each tensor: name, lower edge, upper edge, count.
std::string histogramsCsv(const StoredTensors& tensors, const std::vector<TensorReport>& reports);
/// CSV with one line for each pair.
std::string differencesCsv(const std::vector<PairReport>& reports);

} // namespace secateur
