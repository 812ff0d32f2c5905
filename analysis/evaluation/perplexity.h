#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/batch.h"
#include "analysis/running/plan.h"
#include "analysis/text/scored_text.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// What one window was scored at.
struct WindowLoss {
    double nats = 0; ///< summed over its predicted tokens
    std::int64_t tokens = 0;
    std::size_t page = 0;  ///< in the run's pages
    std::size_t index = 0; ///< in the text's windows
};

/// How well a model predicts a text, or some of its windows. What is divided by is predicted tokens (tokenPpl) or words
/// (wordPpl).
struct Perplexity {
    PerplexityRules rules;           ///< settled
    std::vector<WindowLoss> windows; ///< in the order of the text
    std::vector<PageSize> pages;     ///< wordPpl
    std::int64_t tokens = 0;         ///< predicted
    double lossNats = 0;             ///< per token or word
    double standardError = 0;        ///< of lossNats, over windows or pages; NaN for a single one

    double perplexity() const;     ///< exp(lossNats)
    double tokenLossNats() const;  ///< per token, whatever the protocol
    std::int64_t words() const;    ///< wordPpl
    std::int64_t bytes() const;    ///< wordPpl
    double bytePerplexity() const; ///< wordPpl
    double bitsPerByte() const;    ///< wordPpl
};

/// Sums are in float64. Windows run side by side, the longest first, as many as have `batchTokens` tokens together, but
/// at least one; the same text always in the same batches.
/// @param plan of model.runner()
/// @throws Error for models that cannot score a text, tokens that they do not know, and losses that are not finite;
/// Cancelled
Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens = 4096,
                      const Progress& progress = {});

/// A run over some windows of a text, or all. Pages of which not every window was scored are left out.
/// @param losses of all windows of the text; those of 0 tokens were not scored
Perplexity perplexityOf(const ScoredText& text, const std::vector<WindowLoss>& losses);

/// The same from what was kept of a run. @param windows, pages in the order of the text, `page` a place in `pages`
Perplexity perplexityOf(const PerplexityRules& rules, std::vector<WindowLoss> windows, std::vector<PageSize> pages);

/// How much more loss one run has than another on the same windows: far better known than either loss.
struct LossDifference {
    double nats = 0;          ///< per token or word; positive = the first run is worse
    double standardError = 0; ///< over windows or pages; NaN for a single one
    std::size_t count = 0;    ///< windows or pages compared

    /// Half of the interval that holds the difference on all such texts with 95 % probability: by Student's t, for few
    /// windows are less than their standard error tells. NaN for a single one.
    double halfWidth95() const;
};

/// Over the windows (pages) that both have, when one run read less of the text.
/// @throws Error when the two were not scored by the same rules, or not on the same text, or on no common part of it
LossDifference pairedDifference(const Perplexity& run, const Perplexity& reference);

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
