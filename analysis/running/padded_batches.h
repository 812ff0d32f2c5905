#pragma once

#include "analysis/running/batch.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Sequences side by side, padded on the right.
struct PaddedBatches {
    std::vector<Batch> batches;
    std::vector<std::vector<std::size_t>> sequences; ///< rows of each batch

    std::int64_t tokens() const; ///< padding included
};

/// The longest first, as many in each batch as have `batchTokens` tokens together, but at least one; the same sequences
/// always in the same batches.
PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// As they come, so many in each batch.
PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows);

} // namespace secateur
