#pragma once

#include "analysis/text/sequences.h"
#include "analysis/tasks/task.h"
#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace secateur {

/// A context and its continuation as tokens: those from `firstScored` on are predicted, each from all before it.
struct OptionTokens {
    std::vector<int> ids;
    std::size_t firstScored = 0; ///< 1 at least

    bool operator==(const OptionTokens&) const = default;
};

struct OptionTokenRules {
    /// tokenizerDefault, always or never; firstOnly is the same as the first of them.
    BosRule bos = BosRule::tokenizerDefault;
    std::size_t mostInputs = 0; ///< tokens that the model sees at most, older ones are left out; 0 = no limit
};

/// What stands in front of a continuation, with the special tokens that the rule wants; may be empty.
std::vector<int> contextTokens(std::string_view text, const Tokenizer& tokenizer, BosRule bos);

/// The options of a question as tokens (evaluation.md 2.1): blanks at the end of a context go to the continuation; the
/// context's tokens are those it has alone; the continuation's are those of both texts together from as many on; a
/// context without tokens is one BOS, or EOS where the tokenizer has no BOS.
/// @throws Error naming the line, when a continuation has no tokens or more than the model sees
std::vector<OptionTokens> optionTokens(const TaskQuestion& question, const Tokenizer& tokenizer,
                                       const OptionTokenRules& rules);

} // namespace secateur
