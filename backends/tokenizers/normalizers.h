#pragma once

#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/regex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A text that normalizers rewrite. It is valid UTF-8. If it is tracked, it also contains the origin of each byte in
/// the original text.
class AlignedText {
public:
    AlignedText() = default;
    /// Replaces invalid UTF-8 by U+FFFD. @throws Error if the text is too long for 32-bit positions
    AlignedText(std::string_view given, bool tracked);

    const std::string& text() const { return m_text; }
    std::size_t size() const { return m_text.size(); }
    bool tracked() const { return m_tracked; }
    AlignedText slice(std::size_t begin, std::size_t end) const;
    /// The range of the original text, in whole characters, from which the bytes [begin, end) come. Only if the text is
    /// tracked.
    TextRange origin(std::size_t begin, std::size_t end) const;
    /// Whether `at` is the beginning of the text, and the text begins where the original text does. Needs no tracking.
    bool beginsAt(std::size_t at) const;

private:
    friend class Rewriter;
    struct Span {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    Span spanOf(std::size_t at) const;

    std::string m_text;
    std::size_t m_given = 0; ///< bytes of the whole given text, which limit the growth of this one
    bool m_tracked = false;
    bool m_moved = false;      ///< whether the text was changed; if tracked, origins are then in m_spans
    std::size_t m_base = 0;    ///< origin of the first byte while the text is unchanged
    bool m_first = true;       ///< whether the text begins where the original text does
    std::vector<Span> m_spans; ///< origin of each byte
};

/// Writes a new version of an aligned text, from its beginning to its end. All calls that add bytes throw GrowthError
/// if the text becomes longer than growthLimit() allows for the given text.
class Rewriter {
public:
    explicit Rewriter(AlignedText& text);

    /// Copies the bytes [begin, end) of the old text.
    void keep(std::size_t begin, std::size_t end);
    /// Writes new bytes in place of the old bytes [begin, end), which may be empty.
    void put(std::string_view bytes, std::size_t begin, std::size_t end);
    /// Writes new bytes before the old character at `at`. This character counts as their origin.
    void putBefore(std::string_view bytes, std::size_t at);
    /// Removes the last `bytes` bytes of the new text.
    void drop(std::size_t bytes);
    const std::string& text() const { return m_fresh.m_text; }
    /// Replaces the old text; call once, at the end. @throws GrowthError
    void finish();

private:
    AlignedText& m_old;
    AlignedText m_fresh;
};

/// The precompiled character map of SentencePiece: a double-array trie of texts, and their replacements.
class Charsmap {
public:
    /// @param blob bytes of the map in the model file @throws Error if they are inconsistent
    Charsmap(std::string_view blob, const std::string& subject);

    struct Match {
        std::size_t bytes = 0; ///< number of bytes to replace
        std::string_view replacement;
    };
    /// The longest text of the map that begins at `at`; empty if there is none.
    std::optional<Match> longest(std::string_view text, std::size_t at) const;
    /// The shortest text of the map that begins at `at`; empty if there is none.
    std::optional<Match> shortest(std::string_view text, std::size_t at) const;

private:
    template <typename Found>
    void walk(std::string_view text, std::size_t at, Found found) const;

    std::vector<std::uint32_t> m_units;
    std::string m_replacements; ///< all replacements; each ends with a zero byte
};

/// Decodes base64. Empty if the text is not base64.
std::optional<std::string> fromBase64(std::string_view text);

/// A step that rewrites a text before it is split into words. Immutable.
class Normalizer {
public:
    virtual ~Normalizer() = default;
    /// @throws Error if a regular expression takes too many steps
    virtual void apply(AlignedText& text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

enum class NormalForm { nfc, nfd, nfkc, nfkd };

struct BertCleaning {
    bool cleanText = true;
    bool apartChinese = true; ///< whether to put spaces around ideographs
    bool stripAccents = true;
    bool lowerCase = true;
};

/// Settings of SentencePiece's normalisation.
struct SentencePieceRules {
    std::shared_ptr<const Charsmap> map;  ///< character map; null = characters are unchanged
    std::shared_ptr<const ByteTrie> kept; ///< texts that are not changed; null = none
    bool prefix = true;                   ///< whether to put a space in front
    bool mergeBlanks = true;              ///< whether to replace several spaces by one, and remove those at the ends
    bool blanksAtEnds = false;            ///< whether that space is put at the end instead
    bool markBlanks = true;               ///< whether to replace spaces by "▁"
};

NormalizerPtr makeNormalForm(NormalForm form);
NormalizerPtr makeLowercase();
NormalizerPtr makeStrip(bool left, bool right);
NormalizerPtr makeStripAccents();
NormalizerPtr makeBertCleaning(const BertCleaning& options);
/// Puts `text` in front of every text that is not empty.
NormalizerPtr makePrepend(std::string text);
NormalizerPtr makeReplaceText(std::string pattern, std::string replacement);
NormalizerPtr makeReplaceRegex(std::shared_ptr<const Regex> pattern, std::string replacement);
/// Applies a character map as Hugging Face's library does: to graphemes of up to 5 bytes as a whole, otherwise to
/// single characters.
NormalizerPtr makeGraphemeMap(std::shared_ptr<const Charsmap> map);
NormalizerPtr makeSentencePiece(SentencePieceRules rules);
/// Removes control characters and replaces white space by spaces, as in "nmt" of SentencePiece.
NormalizerPtr makeNmt();
/// Replaces each byte by its letter in GPT-2's alphabet.
NormalizerPtr makeByteLetters();

} // namespace secateur
