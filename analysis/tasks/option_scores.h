#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/batch.h"
#include "analysis/running/runner.h"
#include "analysis/tasks/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

struct OptionId {
    std::size_t question = 0;
    std::size_t option = 0;
};

/// A scored token and the input position that predicts it.
struct OptionTarget {
    int position = 0;
    int token = 0;
    OptionId of;
};

/// A node of an OptionTree: a run of input tokens that one or several options share, following those of its parent.
struct OptionPiece {
    std::optional<std::size_t> parent; ///< index of an earlier piece
    int depth = 0;                     ///< number of ancestors
    int begin = 0;                     ///< position of its first token
    std::vector<int> ids;
    std::vector<OptionTarget> targets;
    bool hasChildren = false;

    int end() const { return begin + static_cast<int>(ids.size()); }
};

/// The inputs of several questions as a prefix tree, with its pieces in batches of similar length, parents before
/// children.
struct OptionTree {
    std::vector<OptionPiece> pieces;
    std::vector<std::vector<std::size_t>> batches; ///< pieces, all of one depth

    std::int64_t tokens() const;
    /// The pieces of a batch as rows, padded on the right.
    Batch batch(std::size_t index) const;
};

/// Number of input tokens of all options, as if nothing were shared.
std::int64_t inputTokens(std::span<const std::vector<OptionTokens>> questions);

/// An order in which questions with equal beginnings are adjacent.
std::vector<std::size_t> neighbourOrder(std::span<const std::vector<OptionTokens>> questions);

/// The tree of some questions. It has three levels: beginnings shared by adjacent questions (examples), beginnings
/// shared by the options of a question, and the rest of each option.
/// @param chosen indices into questions, in neighbourOrder() @param batchTokens maximum of a batch, padding included,
/// unless a single row has more
OptionTree optionTree(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> chosen,
                      std::int64_t batchTokens);

/// The score of a continuation.
struct OptionScore {
    double logProbability = 0; ///< sum over its tokens, in nats
    bool isGreedy = true;      ///< whether each token was the likeliest
};

/// Scores options. Equal inputs and shared beginnings run once. Results equal those of scoring the options one by one,
/// except for rounding in different batches.
/// @param plan of model.runner() @param questions the options of each
/// @param batchTokens maximum that runs at once, padding included; bounds memory and does not affect results
/// @returns a score for each option
/// @throws Error for encoders and non-finite results; Cancelled within the time of one layer on one batch
std::vector<std::vector<OptionScore>> scoreOptions(const Model& model, const Plan& plan,
                                                   std::span<const std::vector<OptionTokens>> questions,
                                                   std::int64_t batchTokens = 4096, const Progress& progress = {});

} // namespace secateur
