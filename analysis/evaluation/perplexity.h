#pragma once

#include "analysis/base/cluster.h"
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
    double nats = 0;         ///< sum over the predicted tokens of the window
    std::int64_t tokens = 0; ///< number of predicted tokens
    std::size_t page = 0;    ///< index in Perplexity::pages of the window's page
    std::size_t index = 0;   ///< index in the text's windows
};

/// The loss of a model on a text, or on some of its windows. It is per predicted token (tokenPpl) or per word
/// (wordPpl).
struct Perplexity {
    PerplexityRules rules;           ///< with defaults filled in
    std::vector<WindowLoss> windows; ///< in the order of the text
    std::vector<PageSize> pages;     ///< only for wordPpl
    std::int64_t tokens = 0;         ///< number of predicted tokens
    double lossNats = 0;             ///< loss per token or per word
    double standardError = 0;        ///< standard error of lossNats over windows or pages; NaN for a single one

    double perplexity() const;     ///< exp(lossNats)
    double tokenLossNats() const;  ///< loss per token, in both protocols
    std::int64_t words() const;    ///< number of words, for wordPpl
    std::int64_t bytes() const;    ///< number of bytes, for wordPpl
    double bytePerplexity() const; ///< for wordPpl
    double bitsPerByte() const;    ///< for wordPpl
};

/// Scores a text. Losses are summed in float64. addBatches() makes the batches, so that equal texts run in equal
/// batches.
/// @param plan plan of model.runner() @param cluster ranks that share the batches; all of them get the result
/// @throws Error for models without an LM head, tokens outside the vocabulary, and losses that are not finite;
/// Cancelled
Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens = 4096,
                      const Progress& progress = {}, const Cluster* cluster = nullptr);

/// The loss over the scored windows of a text. A page counts only if all of its windows were scored.
/// @param losses one for each window of the text; with 0 tokens if the window was not scored
Perplexity perplexityOf(const ScoredText& text, const std::vector<WindowLoss>& losses);

/// The loss computed from a saved run. @param windows, pages in the order of the text; WindowLoss::page is an index in
/// `pages`
Perplexity perplexityOf(const PerplexityRules& rules, std::vector<WindowLoss> windows, std::vector<PageSize> pages);

/// Paired difference of the losses of two runs on the same windows. Its standard error is far smaller than that of
/// either loss.
struct LossDifference {
    double nats = 0;          ///< difference per token or per word; positive = the loss of the first run is larger
    double standardError = 0; ///< standard error over windows or pages; NaN for a single one
    std::size_t count = 0;    ///< number of windows or pages that were compared

    /// Half the width of the 95 % confidence interval. It uses Student's t, because there may be few windows. NaN for a
    /// single one.
    double halfWidth95() const;
};

/// The difference over the windows (wordPpl: pages) that both runs scored.
/// @throws Error if the rules (apart from mostTokens) or the texts differ, or if the runs have no window in common
LossDifference pairedDifference(const Perplexity& run, const Perplexity& reference);

/// The windows and targets of the rows of a batch.
struct ScoredRows {
    std::vector<std::size_t> windows; ///< [rows] index in the text of the row's window
    std::vector<int> targets;         ///< [rows * positions] token to predict; -1 = not scored
};

/// The windows of a text in batches. The input of a row is its window without the last token.
struct ScoredBatches {
    std::vector<Batch> batches;
    std::vector<ScoredRows> rows; ///< windows and targets of each batch
    /// Set by shuffledBatches(): ascending numbers of batches after which every page is scored either completely or not
    /// at all.
    std::vector<std::size_t> blockEnds;
};

/// Adds batches of these windows, longest windows first. Each batch has as many windows as fit `batchTokens`, but at
/// least one. Equal windows give equal batches.
void addBatches(ScoredBatches& all, const ScoredText& text, std::span<const std::size_t> windows,
                std::int64_t batchTokens);

/// All windows (wordPpl: pages) in a shuffled order that depends only on their number. The order is divided into
/// blocks. Each block has as many windows (pages) as fit `batchTokens`, but at least one; addBatches() makes the
/// batches of a block.
ScoredBatches shuffledBatches(const ScoredText& text, std::int64_t batchTokens);

/// The losses of the rows of a batch. WindowLoss::page is not set.
/// @param x residual stream after the last layer, [rows, positions, hidden]
/// @throws Error if a loss is not finite; Cancelled
std::vector<WindowLoss> rowLosses(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                  const ScoredRows& rows, const Progress& progress);

} // namespace secateur
