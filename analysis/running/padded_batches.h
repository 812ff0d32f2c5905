#pragma once

#include "analysis/running/batch.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Sequences in batches, padded at the end.
struct PaddedBatches {
    std::vector<Batch> batches;
    std::vector<std::vector<std::size_t>> sequences; ///< for each batch, the index of each row's sequence

    std::int64_t tokens() const; ///< number of tokens, including padding
};

/// Batches of sequences of similar length, longest sequences first. Each batch has at most `batchTokens` tokens,
/// including padding, but at least one sequence. Deterministic.
PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// Batches of `rows` sequences, in the order of `sequences`.
PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows);

} // namespace secateur
