#pragma once

#include "backends/tokenizers/bpe.h"

#include <string>
#include <vector>

namespace secateur {

/// Scores of tokens that stand for a list of merges.
struct MergeScores {
    std::vector<float> scores; ///< by id; 0 for tokens into which nothing merges
    int equal = 0;             ///< number of tokens that share their score with another
};

/// Derives scores from the order of merges. A tokenizer with scores merges any two tokens whose union is a token, in
/// the order of the scores of the results; of equal scores the leftmost. Results whose merges alternate in the list get
/// equal scores.
/// @param usable whether the token of an id may take part in merges @param subject the list, for messages
/// @throws Error if the list lacks a pair of usable tokens whose union is a usable token
MergeScores scoresOfMerges(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                           const std::vector<bool>& usable, const std::string& subject);

} // namespace secateur
