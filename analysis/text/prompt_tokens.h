#pragma once

#include <string>
#include <vector>

namespace secateur {

/// A text as a model reads it, with what to call its tokens.
struct PromptTokens {
    std::vector<int> ids;
    std::vector<std::string> labels; ///< as many: the text of each, a space shown as "␣" and a line's end as "⏎";
                                     ///< tokens that the tokenizer added itself as the vocabulary spells them
};

} // namespace secateur
