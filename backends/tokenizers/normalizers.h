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

/// A text on its way through normalizers: valid UTF-8 that knows, when asked to, where its bytes came from.
class AlignedText {
public:
    AlignedText() = default;
    /// Bytes that are no UTF-8 become replacement characters. @throws Error when it is too long to be counted
    AlignedText(std::string_view given, bool tracked);

    const std::string& text() const { return m_text; }
    std::size_t size() const { return m_text.size(); }
    bool tracked() const { return m_tracked; }
    AlignedText slice(std::size_t begin, std::size_t end) const;
    /// Where bytes [begin, end) came from, whole characters; nothing useful when not tracked.
    TextRange origin(std::size_t begin, std::size_t end) const;
    /// Whether the byte at `at` came from the first one of what was given; needs no tracking.
    bool beginsAt(std::size_t at) const;

private:
    friend class Rewriter;
    struct Span {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    Span spanOf(std::size_t at) const;

    std::string m_text;
    bool m_tracked = false;
    bool m_moved = false;      ///< bytes lie no longer as they were given: m_spans tell where from, when tracked
    std::size_t m_base = 0;    ///< of the first byte, as long as nothing moved
    bool m_first = true;       ///< the text begins where what was given began
    std::vector<Span> m_spans; ///< of each byte
};

/// Writes a new version of an aligned text, from its beginning to its end.
class Rewriter {
public:
    explicit Rewriter(AlignedText& text);

    /// The bytes [begin, end) of the old text.
    void keep(std::size_t begin, std::size_t end);
    /// Others in place of the old bytes [begin, end), which may be none.
    void put(std::string_view bytes, std::size_t begin, std::size_t end);
    /// Others in front of the old character at `at`, from which they count as coming.
    void putBefore(std::string_view bytes, std::size_t at);
    /// Takes the last bytes written back.
    void drop(std::size_t bytes);
    const std::string& text() const { return m_fresh.m_text; }
    /// Replaces the old text; call once, at the end. @throws Error when it has become too long to be counted
    void finish();

private:
    AlignedText& m_old;
    AlignedText m_fresh;
};

/// SentencePiece's precompiled character map: a double-array trie of texts, and what each becomes.
class Charsmap {
public:
    /// @param blob as it lies in the file. @throws Error when it contradicts itself
    Charsmap(std::string_view blob, const std::string& subject);

    struct Match {
        std::size_t bytes = 0; ///< that are replaced
        std::string_view replacement;
    };
    /// The longest text of the map that begins at `at`; nothing when none does.
    std::optional<Match> longest(std::string_view text, std::size_t at) const;
    /// The shortest one; nothing when none does.
    std::optional<Match> shortest(std::string_view text, std::size_t at) const;

private:
    template <typename Found>
    void walk(std::string_view text, std::size_t at, Found found) const;

    std::vector<std::uint32_t> m_units;
    std::string m_replacements; ///< each ends with a zero byte
};

/// The bytes that base64 text stands for; nothing when it is none.
std::optional<std::string> fromBase64(std::string_view text);

/// A step that rewrites text before it is cut. Immutable.
class Normalizer {
public:
    virtual ~Normalizer() = default;
    /// @throws Error when a regular expression gives up
    virtual void apply(AlignedText& text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

enum class NormalForm { nfc, nfd, nfkc, nfkd };

struct BertCleaning {
    bool cleanText = true;
    bool apartChinese = true; ///< blanks around ideographs
    bool stripAccents = true;
    bool lowerCase = true;
};

/// What SentencePiece does to a text before it cuts it.
struct SentencePieceRules {
    std::shared_ptr<const Charsmap> map;  ///< nullptr: characters stay as they are
    std::shared_ptr<const ByteTrie> kept; ///< texts that are left alone; nullptr: none
    bool prefix = true;                   ///< a blank in front
    bool mergeBlanks = true;              ///< of several blanks one stays, and none at the ends
    bool blanksAtEnds = false;            ///< the prefix goes to the end instead
    bool markBlanks = true;               ///< blanks become "▁"
};

NormalizerPtr makeNormalForm(NormalForm form);
NormalizerPtr makeLowercase();
NormalizerPtr makeStrip(bool left, bool right);
NormalizerPtr makeStripAccents();
NormalizerPtr makeBertCleaning(const BertCleaning& options);
/// In front of any text that is not empty.
NormalizerPtr makePrepend(std::string text);
NormalizerPtr makeReplaceText(std::string pattern, std::string replacement);
NormalizerPtr makeReplaceRegex(std::shared_ptr<const Regex> pattern, std::string replacement);
/// The map as Hugging Face's library applies it: to whole graphemes of up to 5 bytes, else to single characters.
NormalizerPtr makeGraphemeMap(std::shared_ptr<const Charsmap> map);
NormalizerPtr makeSentencePiece(SentencePieceRules rules);
/// Control characters out, other blanks to plain ones.
NormalizerPtr makeNmt();
/// Each byte becomes its letter in GPT-2's alphabet.
NormalizerPtr makeByteLetters();

} // namespace secateur
