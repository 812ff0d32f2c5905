#pragma once

#include "analysis/text/scored_text.h"

#include <string>
#include <vector>

namespace secateur {

/// A text to score a model on, as a person names it.
struct TextRequest {
    std::string path;  ///< file or folder; empty = the built-in text
    std::string field; ///< of the rows of a .jsonl; empty = whichever they have
    PerplexityRules rules;
    bool operator==(const TextRequest&) const = default;
};

/// The same, read, and cut for one model.
struct EvaluationText {
    std::string source; ///< where it came from: the path, or "built-in"
    std::string digest; ///< of the token ids of all windows
    ScoredText scored;
    std::vector<std::string> warnings; ///< of the tokenizer, and of windows that are too long
};

} // namespace secateur
