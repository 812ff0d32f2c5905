#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/token_model.h"
#include "backends/tokenizers/vocabulary.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// A tokenizer as the steps a text goes through, in this order.
struct TokenizerParts {
    AddedTokens added;
    std::vector<NormalizerPtr> normalizers;
    std::vector<PreTokenizerPtr> preTokenizers;
    std::unique_ptr<const TokenModel> model;
    PostProcessor post;
    std::vector<DecoderPtr> decoders; ///< none: tokens are joined by blanks
    TokenizerCard card;               ///< kind, size and addsBos are filled in
};

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts);

} // namespace secateur
