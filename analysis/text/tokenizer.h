#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Bytes [begin, end) of a text. Of a token that the tokenizer added itself, begin = end.
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
    std::vector<int> types;        ///< token types, as many as ids: 1 in what the checkpoint calls the second segment
    std::vector<TextRange> ranges; ///< as many as ids when asked for, of the text the token came from (the second text
                                   ///< of a pair counts from 0 again); whole characters, so neighbours may overlap
};

/// What can be said of a tokenizer without encoding anything.
struct TokenizerCard {
    std::string kind;   ///< "BPE", "WordPiece", "Unigram", "word list"
    std::string source; ///< the file it was read from
    int size = 0;       ///< one more than the largest id
    std::optional<int> bos, eos, unknown, separator, padding, classifier, mask;
    bool addsBos = false;     ///< encode() begins with BOS or its like (CLS) when asked to add special tokens
    std::string chatTemplate; ///< as the checkpoint spells it, for a person to read; it is not executed
    std::vector<std::string> warnings;
};

/// Turns text into the ids that a checkpoint was trained on, and back. Immutable: every call may come from any thread.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual const TokenizerCard& card() const = 0;
    /// Bytes that are no UTF-8 count as U+FFFD, one for each maximal part of a character.
    /// @throws Error when the text needs an unknown token and the vocabulary has none
    virtual Encoding encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Two texts as one sequence, as the checkpoint joins them.
    virtual Encoding encodePair(std::string_view first, std::string_view second,
                                const EncodeOptions& options = {}) const = 0;
    /// Valid UTF-8; ids that the vocabulary does not hold are left out.
    virtual std::string decode(std::span<const int> ids, bool skipSpecial = false) const = 0;
    /// As the vocabulary spells it ("Ġthe"); nothing for an id it does not hold.
    virtual std::optional<std::string> token(int id) const = 0;
    virtual std::optional<int> id(std::string_view token) const = 0;
    virtual bool isSpecial(int id) const = 0;
};

/// Decodes tokens as they come, and never gives half a character away: what add() and finish() return, put together,
/// is what Tokenizer::decode makes of all ids, unless later ids change what earlier ones decode to (byte tokens that
/// are no UTF-8). The tokenizer must outlive it.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool skipSpecial = false)
        : m_tokenizer(tokenizer)
        , m_skipSpecial(skipSpecial) {}

    /// The text that is certain now; often empty after the first bytes of a character.
    std::string add(int id);
    /// What is left: whatever was held back.
    std::string finish();

private:
    std::string grow(bool final);

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::vector<int> m_ids;    ///< of the window that is still decoded
    std::size_t m_settled = 0; ///< tokens at the front of the window that only give context
    std::string m_shown;       ///< what the window's tokens had given away
};

/// A text as a model reads it, with what to call its tokens.
struct PromptTokens {
    std::vector<int> ids;
    std::vector<std::string> labels; ///< as many: the text of each, a space shown as "␣" and a line's end as "⏎";
                                     ///< tokens that the tokenizer added itself as the vocabulary spells them
};

} // namespace secateur
