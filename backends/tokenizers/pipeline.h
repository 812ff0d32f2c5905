#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/decoders.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/pre_tokenizers.h"
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

/// A token that is found in a text before the text is split into words.
struct AddedToken {
    int id = 0;
    std::string text;
    bool singleWord = false;  ///< whether it is found only if no word character is adjacent
    bool stripsLeft = false;  ///< whether it includes the white space before it
    bool stripsRight = false; ///< whether it includes the white space after it
    bool normalized = true;   ///< whether its normalised form is searched in the normalised text
    bool special = false;
};

/// Finds added tokens in a text. Immutable.
class AddedTokens {
public:
    AddedTokens() = default;
    /// If several tokens have the same id, the last is used. @param normalizers all normalizers of the tokenizer
    AddedTokens(std::vector<AddedToken> tokens, std::span<const NormalizerPtr> normalizers);

    /// A part of a text: an added token, or the plain text between added tokens.
    struct Found {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::optional<int> id; ///< id of the added token; empty for plain text
    };
    /// Splits a text at added tokens. The parts cover the whole text.
    /// @param normalized whether the text was normalised already
    std::vector<Found> cut(std::string_view text, bool normalized, SpecialText special) const;

    /// The added token with this id; nullptr if there is none.
    const AddedToken* find(int id) const;
    /// The id of the added token with this text.
    std::optional<int> id(std::string_view text) const;
    std::vector<AddedToken> all() const;
    int largestId() const { return m_tokens.empty() ? -1 : m_tokens.rbegin()->first; }

private:
    std::map<int, AddedToken> m_tokens;
    ByteTrie m_plain;      ///< tokens to find before the normalizers run
    ByteTrie m_normalized; ///< tokens to find after the normalizers ran
};

/// An element of a template: the first or the second text, or special tokens.
struct TemplateItem {
    enum class Kind { special, first, second };
    Kind kind = Kind::first;
    int type = 0;
    std::vector<int> ids; ///< ids of the special tokens
};

/// Combines one or two texts and special tokens by templates.
struct PostProcessor {
    std::vector<TemplateItem> single{{TemplateItem::Kind::first, 0, {}}};
    std::vector<TemplateItem> pair{{TemplateItem::Kind::first, 0, {}}, {TemplateItem::Kind::second, 1, {}}};
    bool trimsBlanks = false; ///< whether ranges exclude spaces at a token's ends
    bool keepsPrefix = false; ///< whether ranges keep one space at a text's beginning, perhaps an added one

    bool addsFront() const { return !single.empty() && single.front().kind == TemplateItem::Kind::special; }
    void trim(Encoding& encoding, std::string_view text) const;
    /// @param second nullptr for a single text @throws GrowthError if a template repeats texts too often
    Encoding join(Encoding first, const Encoding* second, const EncodeOptions& options) const;
};

/// The steps of a tokenizer, in the order in which they run.
struct TokenizerParts {
    AddedTokens added;
    std::vector<NormalizerPtr> normalizers;
    std::vector<PreTokenizerPtr> preTokenizers;
    std::unique_ptr<const TokenModel> model;
    PostProcessor post;
    std::vector<DecoderPtr> decoders; ///< empty = the texts of tokens are joined by spaces
    TokenizerCard card;               ///< assemble() sets kind, size and addsBos
};

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts);

} // namespace secateur
