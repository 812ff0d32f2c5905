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
    std::vector<std::vector<std::size_t>> sequences; ///< for each batch, the index of each row's sequence

    std::int64_t tokens() const; ///< number of tokens, padding included
};

/// Batches of sequences of similar length, the longest first. Each has at most `batchTokens` tokens, padding included,
/// but at least one sequence. Deterministic.
PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// Batches of `rows` sequences in the given order.
PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows);

} // namespace secateur
