#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/regex.h"
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

/// A step of decoding: rewrites the list of the tokens' texts. Immutable.
class Decoder {
public:
    virtual ~Decoder() = default;
    /// @param given size of the texts before the first decoder, which limits their growth @throws GrowthError
    virtual void apply(std::vector<std::string>& tokens, std::size_t given) const = 0;
};

using DecoderPtr = std::unique_ptr<const Decoder>;

/// Joins the bytes that tokens spell in GPT-2's alphabet into one text.
DecoderPtr makeByteLevelDecoder();
/// Replaces consecutive <0x..> tokens by the characters that they spell; if these are not valid, each token by U+FFFD.
DecoderPtr makeByteFallbackDecoder();
DecoderPtr makeFuse();
DecoderPtr makeStripDecoder(std::string character, std::size_t fromStart, std::size_t fromEnd);
DecoderPtr makeReplaceTextDecoder(std::string pattern, std::string replacement);
DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement);
DecoderPtr makeMetaspaceDecoder(std::string mark, PrependScheme scheme);
/// Puts spaces before all tokens except those with the prefix, which is removed.
/// @param cleanUp whether to remove spaces before English punctuation and contractions
DecoderPtr makeWordPieceDecoder(std::string prefix, bool cleanUp);
/// Puts spaces in place of word-end marks.
DecoderPtr makeWordEndDecoder(std::string wordEnd);

/// A token that is matched before the text is split into words.
struct AddedToken {
    int id = 0;
    std::string text;
    bool singleWord = false;  ///< whether it is matched only without adjacent word characters
    bool stripsLeft = false;  ///< whether it includes the white space before it
    bool stripsRight = false; ///< whether it includes the white space after it
    bool normalized = true;   ///< whether its normalised form is matched in the normalised text
    bool special = false;
};

/// Finds added tokens in text. Immutable.
class AddedTokens {
public:
    AddedTokens() = default;
    /// Of several tokens with one id the last counts. @param normalizers all normalizers of the tokenizer
    AddedTokens(std::vector<AddedToken> tokens, std::span<const NormalizerPtr> normalizers);

    /// A part of a text: plain text, or an added token.
    struct Found {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::optional<int> id; ///< nothing for plain text
    };
    /// Splits a text at added tokens. The parts cover the whole text.
    /// @param normalized whether normalizers were applied to the text
    std::vector<Found> cut(std::string_view text, bool normalized, SpecialText special) const;

    /// The added token with this id; nullptr if there is none.
    const AddedToken* find(int id) const;
    /// The id of the added token with this text.
    std::optional<int> id(std::string_view text) const;
    std::vector<AddedToken> all() const;
    int largestId() const { return m_tokens.empty() ? -1 : m_tokens.rbegin()->first; }

private:
    std::map<int, AddedToken> m_tokens;
    ByteTrie m_plain;      ///< matched before the normalizers
    ByteTrie m_normalized; ///< matched after the normalizers
};

/// An element of a template: the first or the second text, or special tokens.
struct TemplateItem {
    enum class Kind { special, first, second };
    Kind kind = Kind::first;
    int type = 0;
    std::vector<int> ids; ///< of the special tokens
};

/// Combines texts and special tokens by templates.
struct PostProcessor {
    std::vector<TemplateItem> single{{TemplateItem::Kind::first, 0, {}}};
    std::vector<TemplateItem> pair{{TemplateItem::Kind::first, 0, {}}, {TemplateItem::Kind::second, 1, {}}};
    bool trimsBlanks = false; ///< whether ranges exclude spaces at a token's ends
    bool keepsPrefix = false; ///< whether ranges keep one space at a text's beginning, perhaps added by the tokenizer

    bool addsFront() const { return !single.empty() && single.front().kind == TemplateItem::Kind::special; }
    void trim(Encoding& encoding, std::string_view text) const;
    /// @param second nullptr for a single text @throws GrowthError if a template repeats texts too often
    Encoding join(Encoding first, const Encoding* second, const EncodeOptions& options) const;
};

/// The steps of a tokenizer, in order.
struct TokenizerParts {
    AddedTokens added;
    std::vector<NormalizerPtr> normalizers;
    std::vector<PreTokenizerPtr> preTokenizers;
    std::unique_ptr<const TokenModel> model;
    PostProcessor post;
    std::vector<DecoderPtr> decoders; ///< empty: tokens are joined by spaces
    TokenizerCard card;               ///< assemble() sets kind, size and addsBos
};

std::shared_ptr<const Tokenizer> assemble(TokenizerParts parts);

} // namespace secateur
