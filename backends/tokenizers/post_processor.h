#pragma once

#include "analysis/text/tokenizer.h"

#include <optional>
#include <string_view>
#include <vector>

namespace secateur {

/// An element of a finished sequence: a text's tokens, or tokens that are put around them.
struct TemplateItem {
    enum class Kind { special, first, second };
    Kind kind = Kind::first;
    int type = 0;
    std::vector<int> ids; ///< of the special tokens
};

/// Puts texts and special tokens together.
struct PostProcessor {
    std::vector<TemplateItem> single{{TemplateItem::Kind::first, 0, {}}};
    std::vector<TemplateItem> pair{{TemplateItem::Kind::first, 0, {}}, {TemplateItem::Kind::second, 1, {}}};
    bool trimsBlanks = false; ///< ranges leave out the blanks at a token's ends
    bool keepsPrefix = false; ///< but one blank at the front of a text, which the tokenizer may have put there

    bool addsFront() const { return !single.empty() && single.front().kind == TemplateItem::Kind::special; }
    void trim(Encoding& encoding, std::string_view text) const;
    /// @param second nullptr for a single text
    Encoding join(Encoding first, const Encoding* second, const EncodeOptions& options) const;
};

} // namespace secateur
