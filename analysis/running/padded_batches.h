#pragma once

#include "analysis/running/batch.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

class Model;

/// Sequences in batches, padded at the end.
struct PaddedBatches {
    std::vector<Batch> batches;
    std::vector<std::vector<std::size_t>> sequences; ///< for each batch, the index of each row's sequence

    std::int64_t tokens() const; ///< number of tokens, including padding
};

/// Batches of sequences of similar length, longest sequences first. Each batch has at most `batchTokens` tokens,
/// including padding, but at least one sequence. Deterministic.
PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// The largest number of tokens of a batch whose activations fit half of Runner::freeBytes(), because logits and stored
/// streams need memory too: `batchTokens`, or where memory is short, its half, quarter and so on, but at least 128.
std::int64_t fittingTokens(const Model& model, std::int64_t batchTokens);

/// Batches of at most fittingTokens() tokens.
PaddedBatches paddedBatches(const Model& model, std::span<const TokenSequence> sequences, std::int64_t batchTokens);

/// Batches of `rows` sequences, in the order of `sequences`.
PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows);

} // namespace secateur
