#pragma once

#include "analysis/running/batch.h"
#include "analysis/model/model.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/text/scored_text.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// What is scored in a batch of windows.
struct ScoredRows {
    std::vector<std::size_t> windows; ///< of each row
    std::vector<int> targets;         ///< [rows * positions], -1 = not scored
};

/// Windows of a text side by side. What goes in is each window without its last token, which nothing follows.
struct ScoredBatches {
    std::vector<Batch> batches;
    std::vector<ScoredRows> rows; ///< of each batch
    /// Of shuffledBatches(): after how many batches every window or page begun is whole.
    std::vector<std::size_t> blockEnds;
};

/// Adds batches of these windows: the longest first, as many in each as have `batchTokens` tokens together, but at
/// least one; the same windows always in the same batches.
void addBatches(ScoredBatches& all, const ScoredText& text, std::span<const std::size_t> windows,
                std::int64_t batchTokens);

/// All windows (wordPpl: pages) in a shuffled order that is the same for a text of as many, each batch out of as few
/// units that follow each other as have `batchTokens` tokens, but at least one.
ScoredBatches shuffledBatches(const ScoredText& text, std::int64_t batchTokens);

/// What each row of a batch is scored at, from the stream behind the last layer. Pages are not filled in.
/// @throws Error when a loss is not finite; Cancelled
std::vector<WindowLoss> rowLosses(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                  const ScoredRows& rows, const Progress& progress);

} // namespace secateur
