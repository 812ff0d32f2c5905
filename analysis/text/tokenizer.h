#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The bytes [begin, end) of a text that a token stands for; empty for tokens that the tokenizer added.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool operator==(const TextRange&) const = default;
};

/// How the text of a special token ("<s>", "[MASK]") in an input is encoded.
enum class SpecialText {
    parsed, ///< as the special token
    plain,  ///< as ordinary text; added tokens that are not special are still encoded as one token
};

struct EncodeOptions {
    bool addSpecial = true; ///< add the tokens that the checkpoint puts around a text: BOS, CLS, SEP
    SpecialText special = SpecialText::parsed;
    bool ranges = false; ///< fill in Encoding::ranges
};

/// A text as tokens.
struct Encoding {
    std::vector<int> ids;
    std::vector<int> types;        ///< token type of each id; 1 in the second text of a pair
    std::vector<TextRange> ranges; ///< if EncodeOptions::ranges: the range of each id in its text, which is one of the
                                   ///< two in a pair; a range has whole characters, so ranges may overlap
};

/// Facts of a tokenizer.
struct TokenizerCard {
    std::string kind;   ///< "BPE", "WordPiece", "Unigram", "word list"
    std::string source; ///< the file from which it was read
    int size = 0;       ///< one more than the largest id
    std::optional<int> bos, eos, unknown, separator, padding, classifier, mask;
    bool addsBos = false;     ///< whether, with addSpecial, encode() begins with BOS (or CLS)
    std::string chatTemplate; ///< as in the checkpoint, for display only; never executed
    std::vector<std::string> warnings;
};

/// Encodes text as the ids that a checkpoint was trained on, and decodes them. Immutable and thread-safe.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual const TokenizerCard& card() const = 0;
    /// Encodes a text. Invalid UTF-8 is read as U+FFFD, one for each maximal part of a character.
    /// @throws Error if the text needs an unknown token and the vocabulary has none
    virtual Encoding encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Encodes two texts as one sequence, joined as the checkpoint does.
    virtual Encoding encodePair(std::string_view first, std::string_view second,
                                const EncodeOptions& options = {}) const = 0;
    /// The text of tokens, valid UTF-8. Ids outside the vocabulary are left out.
    virtual std::string decode(std::span<const int> ids, bool skipSpecial = false) const = 0;
    /// The token as the vocabulary spells it ("Ġthe"); nothing for an id outside the vocabulary.
    virtual std::optional<std::string> token(int id) const = 0;
    virtual std::optional<int> id(std::string_view token) const = 0;
    virtual bool isSpecial(int id) const = 0;
};

/// Decodes tokens one by one and never returns part of a character. The results of add() and finish(), joined, equal
/// Tokenizer::decode() of all ids, unless later ids change how earlier ones are decoded (byte tokens that are not valid
/// UTF-8). The tokenizer must outlive this object.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool skipSpecial = false)
        : m_tokenizer(tokenizer)
        , m_skipSpecial(skipSpecial) {}

    /// Returns the new text that later tokens cannot change; empty while a character is incomplete.
    std::string add(int id);
    /// Returns the text that add() held back.
    std::string finish();

private:
    std::string grow(bool final);

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::vector<int> m_ids;    ///< the latest tokens, which are decoded again with each new one
    std::size_t m_settled = 0; ///< number of tokens at the front of m_ids that are context only
    std::string m_shown;       ///< text of m_ids that was already returned
};

/// A prompt as tokens with labels.
struct PromptTokens {
    std::vector<int> ids;
    std::vector<std::string> labels; ///< text of each token, with "␣" for a space and "⏎" for a line break; for tokens
                                     ///< that the tokenizer added, the vocabulary's spelling
};

} // namespace secateur
