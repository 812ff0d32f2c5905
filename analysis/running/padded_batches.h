#pragma once

#include "analysis/running/batch.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Sequences in batches, padded on the right.
struct PaddedBatches {
    std::vector<Batch> batches;
    std::vector<std::vector<std::size_t>> sequences; ///< for each batch, the indices of the sequences in its rows

    std::int64_t tokens() const; ///< padding included
};

/// Batches in descending order of length, of at most `batchTokens` tokens each, padding included, but at least one
/// sequence. Deterministic.
PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// Batches of `rows` sequences in the given order.
PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows);

} // namespace secateur
