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

/// A token to score, and the input position that predicts it.
struct OptionTarget {
    int position = 0;
    int token = 0;
    OptionId of;
};

/// A node of an OptionTree: consecutive input tokens of one or more options. They follow the tokens of the parent node.
struct OptionPiece {
    std::optional<std::size_t> parent; ///< index of an earlier piece
    int depth = 0;                     ///< number of ancestors
    int begin = 0;                     ///< position in the options' inputs of its first token
    std::vector<int> ids;
    std::vector<OptionTarget> targets;
    bool hasChildren = false;

    int end() const { return begin + static_cast<int>(ids.size()); }
};

/// The inputs of several questions as a prefix tree. Its pieces are divided into batches of similar length; parents run
/// before their children.
struct OptionTree {
    std::vector<OptionPiece> pieces;
    std::vector<std::vector<std::size_t>> batches; ///< for each batch, indices of its pieces, which have the same depth

    std::int64_t tokens() const;
    /// The pieces of a batch as rows, padded on the right.
    Batch batch(std::size_t index) const;
};

/// Number of input tokens of all options. Shared beginnings count once for each option.
std::int64_t inputTokens(std::span<const std::vector<OptionTokens>> questions);

/// An order in which questions with equal beginnings are adjacent.
std::vector<std::size_t> neighbourOrder(std::span<const std::vector<OptionTokens>> questions);

/// The prefix tree of some questions. It has three levels: beginnings that adjacent questions share (examples),
/// beginnings that the options of a question share, and the rest of each option.
/// @param chosen indices in `questions`, in neighbourOrder() @param batchTokens maximum number of tokens of a batch,
/// including padding; a longer piece runs alone
OptionTree optionTree(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> chosen,
                      std::int64_t batchTokens);

/// The score of a continuation.
struct OptionScore {
    double logProbability = 0; ///< sum over the tokens of the continuation, in nats
    bool isGreedy = true;      ///< whether each token was the likeliest one
};

/// Scores options. Equal inputs and shared beginnings run only once. The results are those of scoring the options one
/// by one, except for rounding, which depends on the batches.
/// @param plan plan of model.runner() @param questions for each question, its options
/// @param batchTokens maximum number of tokens of a batch, including padding; limits memory
/// @returns a score for each option
/// @throws Error for encoders and non-finite results; Cancelled within the time of one layer on one batch
std::vector<std::vector<OptionScore>> scoreOptions(const Model& model, const Plan& plan,
                                                   std::span<const std::vector<OptionTokens>> questions,
                                                   std::int64_t batchTokens = 4096, const Progress& progress = {});

} // namespace secateur
