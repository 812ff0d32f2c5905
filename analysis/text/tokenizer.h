#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The bytes [begin, end) of a text from which a token was made. Empty for tokens that the tokenizer added.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool operator==(const TextRange&) const = default;
};

/// How the text of a special token ("<s>", "[MASK]") in the input is encoded.
enum class SpecialText {
    parsed, ///< as the special token
    plain,  ///< as ordinary text; added tokens that are not special are still encoded as one token
};

struct EncodeOptions {
    bool addSpecial = true; ///< whether to add the tokens that the checkpoint puts around a text: BOS, CLS, SEP
    SpecialText special = SpecialText::parsed;
    bool ranges = false; ///< whether to fill Encoding::ranges
};

/// The tokens of a text or of a pair of texts.
struct Encoding {
    std::vector<int> ids;
    std::vector<int> types;        ///< token type of each id; 1 in the second text of a pair
    std::vector<TextRange> ranges; ///< if EncodeOptions::ranges: the range of each id in its text, which is one of the
                                   ///< two in a pair; a range has whole characters, so ranges may overlap
};

/// Facts about a tokenizer.
struct TokenizerCard {
    std::string kind;   ///< "BPE", "WordPiece", "Unigram", "word list"
    std::string source; ///< the file from which it was read
    int size = 0;       ///< the largest id plus one
    std::optional<int> bos, eos, unknown, separator, padding, classifier, mask;
    bool addsBos = false;     ///< whether encode() with addSpecial begins with BOS (or CLS)
    std::string chatTemplate; ///< as in the checkpoint, for display only; never executed
    std::vector<std::string> warnings;
};

/// Encodes text as the ids that a checkpoint was trained on, and decodes them. Immutable and thread-safe.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual const TokenizerCard& card() const = 0;
    /// Encodes a text. In invalid UTF-8, each maximal part of a character is read as U+FFFD.
    /// @throws Error if the text needs an unknown token and the vocabulary has none
    virtual Encoding encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Encodes two texts as one sequence, joined as the checkpoint does.
    virtual Encoding encodePair(std::string_view first, std::string_view second,
                                const EncodeOptions& options = {}) const = 0;
    /// The text of tokens as valid UTF-8. Ids outside of the vocabulary are left out.
    virtual std::string decode(std::span<const int> ids, bool skipSpecial = false) const = 0;
    /// The token as it is spelled in the vocabulary ("Ġthe"); empty for an id outside of the vocabulary.
    virtual std::optional<std::string> token(int id) const = 0;
    virtual std::optional<int> id(std::string_view token) const = 0;
    virtual bool isSpecial(int id) const = 0;
};

/// Decodes tokens one by one and never returns a part of a character. The joined results of add() and finish() equal
/// Tokenizer::decode() of all ids, unless later ids change how earlier ones are decoded (byte tokens that are not valid
/// UTF-8). The tokenizer must outlive this object.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool skipSpecial = false)
        : m_tokenizer(tokenizer)
        , m_skipSpecial(skipSpecial) {}

    /// Returns the new text that later tokens cannot change; empty while a character is incomplete.
    std::string add(int id);
    /// Returns the text that add() has not returned yet.
    std::string finish();

private:
    std::string grow(bool final);

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::vector<int> m_ids;    ///< the latest tokens; they are decoded again with each new token
    std::size_t m_settled = 0; ///< number of tokens at the beginning of m_ids that are only context
    std::string m_shown;       ///< text of m_ids that was returned already
};

/// The tokens of a prompt with their labels.
struct PromptTokens {
    std::vector<int> ids;
    std::vector<std::string> labels; ///< text of each token, with "␣" for a space and "⏎" for a line break; for tokens
                                     ///< that the tokenizer added, the vocabulary's spelling
};

} // namespace secateur
