#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/batch.h"
#include "analysis/running/runner.h"
#include "analysis/text/scored_text.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// The loss of one window.
struct WindowLoss {
    double nats = 0;         ///< sum over its predicted tokens
    std::int64_t tokens = 0; ///< predicted
    std::size_t page = 0;    ///< in the run's pages
    std::size_t index = 0;   ///< in the text's windows
};

/// The loss of a model on a text, or on some of its windows, per predicted token (tokenPpl) or word (wordPpl).
struct Perplexity {
    PerplexityRules rules;           ///< with defaults filled in
    std::vector<WindowLoss> windows; ///< in the order of the text
    std::vector<PageSize> pages;     ///< of wordPpl; empty for tokenPpl
    std::int64_t tokens = 0;         ///< predicted
    double lossNats = 0;             ///< per token or word
    double standardError = 0;        ///< of lossNats, over windows or pages; NaN for a single one

    double perplexity() const;     ///< exp(lossNats)
    double tokenLossNats() const;  ///< per token, in both protocols
    std::int64_t words() const;    ///< wordPpl
    std::int64_t bytes() const;    ///< wordPpl
    double bytePerplexity() const; ///< wordPpl
    double bitsPerByte() const;    ///< wordPpl
};

/// Scores a text. Losses are summed in float64. Batches are those of addBatches(), so equal texts run in equal batches.
/// @param plan of model.runner()
/// @throws Error for models without an LM head, tokens outside the vocabulary, and losses that are not finite;
/// Cancelled
Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens = 4096,
                      const Progress& progress = {});

/// The loss over the scored windows of a text. Pages of which not every window was scored are left out.
/// @param losses of all windows of the text; a loss of 0 tokens means not scored
Perplexity perplexityOf(const ScoredText& text, const std::vector<WindowLoss>& losses);

/// The same from a saved run. @param windows, pages in the order of the text; WindowLoss::page is an index into pages
Perplexity perplexityOf(const PerplexityRules& rules, std::vector<WindowLoss> windows, std::vector<PageSize> pages);

/// Paired difference of the losses of two runs on the same windows. Its error is far smaller than that of either loss.
struct LossDifference {
    double nats = 0;          ///< per token or word; positive = the first run is worse
    double standardError = 0; ///< over windows or pages; NaN for a single one
    std::size_t count = 0;    ///< windows or pages compared

    /// Half width of the 95 % confidence interval by Student's t, which accounts for few windows. NaN for a single one.
    double halfWidth95() const;
};

/// Over the windows (pages) that both runs scored.
/// @throws Error if the rules or the texts differ, or if the runs have no window in common
LossDifference pairedDifference(const Perplexity& run, const Perplexity& reference);

/// The targets of a batch of windows.
struct ScoredRows {
    std::vector<std::size_t> windows; ///< index of each row's window
    std::vector<int> targets;         ///< token to predict, [rows * positions]; -1 = not scored
};

/// Windows of a text in batches. The input is each window without its last token.
struct ScoredBatches {
    std::vector<Batch> batches;
    std::vector<ScoredRows> rows; ///< of each batch
    /// shuffledBatches(): numbers of batches after which no page is incomplete, ascending.
    std::vector<std::size_t> blockEnds;
};

/// Adds batches of these windows, longest first, each with as many windows as fit `batchTokens`, at least one. Equal
/// windows give equal batches.
void addBatches(ScoredBatches& all, const ScoredText& text, std::span<const std::size_t> windows,
                std::int64_t batchTokens);

/// All windows (wordPpl: pages) in a shuffled order that depends on their number only. Each block of batches has as
/// many consecutive ones as fit `batchTokens`, at least one.
ScoredBatches shuffledBatches(const ScoredText& text, std::int64_t batchTokens);

/// The losses of a batch's rows, without pages.
/// @param x residual stream after the last layer, [rows, positions, hidden]
/// @throws Error if a loss is not finite; Cancelled
std::vector<WindowLoss> rowLosses(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                  const ScoredRows& rows, const Progress& progress);

} // namespace secateur
