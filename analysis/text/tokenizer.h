#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Bytes [begin, end) of a text; begin = end for a token that the tokenizer added itself.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool operator==(const TextRange&) const = default;
};

/// What special text ("<s>", "[MASK]") inside a text means.
enum class SpecialText {
    parsed, ///< the special token
    plain,  ///< its letters; tokens that were added without being special stay tokens
};

struct EncodeOptions {
    bool addSpecial = true; ///< the tokens that the checkpoint puts around a text: BOS, CLS, SEP
    SpecialText special = SpecialText::parsed;
    bool ranges = false; ///< fill in Encoding::ranges
};

/// A text as tokens.
struct Encoding {
    std::vector<int> ids;
    std::vector<int> types;        ///< token type of each id; 1 in the second segment
    std::vector<TextRange> ranges; ///< of each id, when asked for, in the text that the token came from (the second
                                   ///< text of a pair counts from 0 again); whole characters, so ranges may overlap
};

/// Facts of a tokenizer.
struct TokenizerCard {
    std::string kind;   ///< "BPE", "WordPiece", "Unigram", "word list"
    std::string source; ///< the file it was read from
    int size = 0;       ///< one more than the largest id
    std::optional<int> bos, eos, unknown, separator, padding, classifier, mask;
    bool addsBos = false;     ///< with addSpecial, encode() begins with BOS (or CLS)
    std::string chatTemplate; ///< as the checkpoint spells it, for reading; it is never executed
    std::vector<std::string> warnings;
};

/// Encodes text as the ids that a checkpoint was trained on, and decodes them. Immutable and thread-safe.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual const TokenizerCard& card() const = 0;
    /// Each maximal invalid part of a character counts as U+FFFD.
    /// @throws Error if the text needs an unknown token and the vocabulary has none
    virtual Encoding encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Two texts as one sequence, as the checkpoint joins them.
    virtual Encoding encodePair(std::string_view first, std::string_view second,
                                const EncodeOptions& options = {}) const = 0;
    /// Valid UTF-8; ids outside the vocabulary are left out.
    virtual std::string decode(std::span<const int> ids, bool skipSpecial = false) const = 0;
    /// The token as the vocabulary spells it ("Ġthe"); nothing for an id outside the vocabulary.
    virtual std::optional<std::string> token(int id) const = 0;
    virtual std::optional<int> id(std::string_view token) const = 0;
    virtual bool isSpecial(int id) const = 0;
};

/// Decodes tokens one by one and never returns part of a character. The results of add() and finish() together are
/// Tokenizer::decode() of all ids, unless later ids change how earlier ones are decoded (byte tokens that are not valid
/// UTF-8). The tokenizer must outlive it.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool skipSpecial = false)
        : m_tokenizer(tokenizer)
        , m_skipSpecial(skipSpecial) {}

    /// The text that later tokens cannot change; empty while a character is incomplete.
    std::string add(int id);
    /// The text that was held back.
    std::string finish();

private:
    std::string grow(bool final);

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::vector<int> m_ids;    ///< the window of tokens that is decoded again with each new one
    std::size_t m_settled = 0; ///< tokens at the front of the window that serve as context only
    std::string m_shown;       ///< text of the window that was returned already
};

/// A prompt as tokens with labels.
struct PromptTokens {
    std::vector<int> ids;
    std::vector<std::string> labels; ///< text of each token, with "␣" for a space and "⏎" for a line break; tokens that
                                     ///< the tokenizer added itself as the vocabulary spells them
};

} // namespace secateur
