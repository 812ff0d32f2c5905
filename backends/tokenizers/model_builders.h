#pragma once

#include "backends/tokenizers/bpe.h"
#include "backends/tokenizers/json_tokens.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

/// @throws Error on tokens or ids that are there twice, ids beyond the vocabulary, text that is no UTF-8
std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject);

/// Merges by rank, as ids. @param continuationPrefix that a right half loses. @throws Error naming the merge
std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject);

} // namespace secateur
