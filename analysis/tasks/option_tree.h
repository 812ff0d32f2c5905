#pragma once

#include "analysis/running/batch.h"
#include "analysis/tasks/option_tokens.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// Which option of which question.
struct OptionId {
    std::size_t question = 0;
    std::size_t option = 0;
};

/// A token whose probability is asked for, and the position of the input that predicts it.
struct OptionTarget {
    int position = 0;
    int token = 0;
    OptionId of;
};

/// A run of input tokens that several options share, behind what the piece before it holds.
struct OptionPiece {
    std::optional<std::size_t> parent; ///< comes earlier in the list
    int depth = 0;                     ///< pieces before it
    int begin = 0;                     ///< position of its first token
    std::vector<int> ids;
    std::vector<OptionTarget> targets;
    bool hasChildren = false;

    int end() const { return begin + static_cast<int>(ids.size()); }
};

/// Questions that are scored together: their inputs with what is equal written once, and batches of pieces of like
/// length, parents before children.
struct OptionTree {
    std::vector<OptionPiece> pieces;
    std::vector<std::vector<std::size_t>> batches; ///< pieces, all of one depth

    std::int64_t tokens() const;
    /// The pieces of a batch as rows, padded on the right.
    Batch batch(std::size_t index) const;
};

/// Tokens of the inputs, each option counted: what runs when nothing is shared.
std::int64_t inputTokens(std::span<const std::vector<OptionTokens>> questions);

/// The order in which questions with equal beginnings are neighbours.
std::vector<std::size_t> neighbourOrder(std::span<const std::vector<OptionTokens>> questions);

/// The tree of some questions. Three levels: what neighbouring questions share (examples), what the options of a
/// question share, and the rest of each option.
/// @param chosen indices into questions, in neighbourOrder @param batchTokens of a batch, padding included, unless one
/// row has more
OptionTree optionTree(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> chosen,
                      std::int64_t batchTokens);

} // namespace secateur
