#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/vocabulary.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A token that is found in the text before anything else is done to it.
struct AddedToken {
    int id = 0;
    std::string text;
    bool singleWord = false; ///< only where no word character touches it
    bool stripsLeft = false; ///< takes the blanks before it along
    bool stripsRight = false;
    bool normalized = true; ///< looked for after the normalizers, in the form they give it
    bool special = false;
};

/// Finds added tokens in text. Immutable.
class AddedTokens {
public:
    AddedTokens() = default;
    /// The last one of an id counts. @param normalizers all of the tokenizer's
    AddedTokens(std::vector<AddedToken> tokens, std::span<const NormalizerPtr> normalizers);

    /// A stretch of text, or an added token in it.
    struct Found {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::optional<int> id; ///< nothing for plain text
    };
    /// Cuts a text, before its normalizers or after them; nothing of it is lost.
    std::vector<Found> cut(std::string_view text, bool normalized, SpecialText special) const;

    /// nullptr when none has this id
    const AddedToken* find(int id) const;
    /// Text that stands for such a token.
    std::optional<int> id(std::string_view text) const;
    std::vector<AddedToken> all() const;
    int largestId() const { return m_tokens.empty() ? -1 : m_tokens.rbegin()->first; }

private:
    std::map<int, AddedToken> m_tokens;
    ByteTrie m_plain;      ///< looked for before normalizers
    ByteTrie m_normalized; ///< after them
};

} // namespace secateur
