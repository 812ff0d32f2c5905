#pragma once

#include "analysis/base/progress.h"
#include "analysis/weights/number_grid.h"
#include "analysis/weights/stored_tensors.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// The same weight in two checkpoints. Tensors that hold a weight of the model are paired by layer and weight, whatever
/// their names and layouts; other tensors by name.
struct TensorPair {
    std::string name;       ///< of the first checkpoint's tensor; with the weight if the tensor holds several
    std::size_t first = 0;  ///< index in the first checkpoint
    std::size_t second = 0; ///< index in the second checkpoint
    std::optional<std::size_t> firstPart;  ///< index in StoredTensor::parts; absent = paired by name
    std::optional<std::size_t> secondPart; ///< present if firstPart is
    std::vector<std::int64_t> firstShape;  ///< of the weight as [out, in], or of the tensor
    std::vector<std::int64_t> secondShape;
    /// Why the numbers cannot be compared: another shape (a pruned weight is named as such), or a type that cannot be
    /// decoded. Empty = they can.
    std::string obstacle;
};

/// The pairs of two checkpoints, in the order of the first one.
struct TensorPairs {
    std::vector<TensorPair> pairs;
    std::vector<std::size_t> onlyFirst; ///< tensors without a partner
    std::vector<std::size_t> onlySecond;
    std::vector<std::string> warnings; ///< for example that the numbers of layers differ
};

TensorPairs pairTensors(const StoredTensors& first, const StoredTensors& second);

/// The difference of two grids of equal shape. All sums are over the places where both numbers are finite.
struct TensorDifference {
    std::int64_t count = 0;     ///< places
    std::int64_t different = 0; ///< places with different numbers; two NaN are equal
    std::int64_t notFinite = 0; ///< places where a number is NaN or infinite
    double norm = 0;            ///< Frobenius norm of the first
    double difference = 0;      ///< Frobenius norm of second - first
    double largest = 0;         ///< largest |second - first|
    std::int64_t row = 0;       ///< of the largest difference
    std::int64_t column = 0;

    /// difference / norm; 0 if both are 0, infinity if only the norm is.
    double relativeError() const;
    /// Signal to noise ratio in dB: 20 log10(norm / difference); infinity if there is no difference.
    double signalToNoise() const;
};

/// The grids of a pair. @throws Error if a type cannot be decoded
std::shared_ptr<const NumberGrid> firstGrid(const StoredTensors& first, const TensorPair& pair);
std::shared_ptr<const NumberGrid> secondGrid(const StoredTensors& second, const TensorPair& pair);
/// second - first, for BlockPyramid and statisticsOf(). @throws Error if the shapes differ
std::shared_ptr<const NumberGrid> differenceGrid(std::shared_ptr<const NumberGrid> first,
                                                 std::shared_ptr<const NumberGrid> second);

/// Compares two grids of equal shape, on all threads. @throws Error if the shapes differ or a file was truncated;
/// Cancelled
TensorDifference compareGrids(const NumberGrid& first, const NumberGrid& second, const Progress& progress = {});

} // namespace secateur
