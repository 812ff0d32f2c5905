// The normalizers that use tables: Unicode's normal forms and SentencePiece's character map.
#include "analysis/base/error.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace secateur {

namespace {

// Fields of a unit of the double-array trie: whether a text ends there; the place of its replacement, if the unit is a
// leaf; the byte of the edge to the unit; and the offset to the units of the next bytes.
bool endsText(std::uint32_t unit) {
    return ((unit >> 8U) & 1U) != 0;
}
std::uint32_t valueOf(std::uint32_t unit) {
    return unit & 0x7FFFFFFFU;
}
std::uint32_t labelOf(std::uint32_t unit) {
    return unit & 0x800000FFU;
}
std::uint32_t offsetOf(std::uint32_t unit) {
    return (unit >> 10U) << ((unit & 0x200U) >> 6U);
}

bool isAscii(std::string_view text) {
    return std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

const icu::Normalizer2* instanceOf(NormalForm form, UErrorCode& failure) {
    switch (form) {
    case NormalForm::nfc:
        return icu::Normalizer2::getNFCInstance(failure);
    case NormalForm::nfd:
        return icu::Normalizer2::getNFDInstance(failure);
    case NormalForm::nfkc:
        return icu::Normalizer2::getNFKCInstance(failure);
    default:
        return icu::Normalizer2::getNFKDInstance(failure);
    }
}

/// The characters of Unicode 9. The original tokenizers do not change characters that were added later.
const icu::UnicodeSet& unicode9(UErrorCode& failure) {
    static const icu::UnicodeSet set = [&] {
        icu::UnicodeSet made(icu::UnicodeString("[:age=9.0:]"), failure);
        made.freeze();
        return made;
    }();
    return set;
}

class Form : public Normalizer {
public:
    explicit Form(NormalForm form) {
        UErrorCode failure = U_ZERO_ERROR;
        const icu::Normalizer2* whole = instanceOf(form, failure);
        const icu::UnicodeSet& known = unicode9(failure);
        if (U_FAILURE(failure) || !whole)
            throw Error("cannot load Unicode's normal forms: ICU's data are missing");
        m_form = std::make_unique<icu::FilteredNormalizer2>(*whole, known);
    }

    void apply(AlignedText& text) const override {
        if (isAscii(text.text()))
            return;
        UErrorCode failure = U_ZERO_ERROR;
        icu::Edits edits;
        std::string normal;
        icu::StringByteSink<std::string> sink(&normal, static_cast<std::int32_t>(text.size()));
        const icu::StringPiece old(text.text().data(), static_cast<std::int32_t>(text.size()));
        m_form->normalizeUTF8(0, old, sink, &edits, failure);
        if (U_FAILURE(failure))
            throw Error(std::string("cannot be normalised: ") + u_errorName(failure), "the text");
        if (edits.hasChanges())
            rewrite(text, normal, edits);
    }

private:
    std::string normalOf(std::string_view text) const {
        UErrorCode failure = U_ZERO_ERROR;
        std::string normal;
        icu::StringByteSink<std::string> sink(&normal);
        m_form->normalizeUTF8(0, {text.data(), static_cast<std::int32_t>(text.size())}, sink, nullptr, failure);
        return normal;
    }

    /// Writes an edit of several neighbouring characters as one edit per character. Returns false if `becomes` is not
    /// the concatenation of the characters' own normal forms.
    bool putEach(std::string_view text, std::size_t begin, std::size_t end, std::string_view becomes,
                 Rewriter& fresh) const {
        std::vector<std::string> parts;
        std::string whole;
        for (std::size_t at = begin; at < end; at += unicode::characterAt(text, at).bytes) {
            parts.push_back(normalOf(text.substr(at, unicode::characterAt(text, at).bytes)));
            whole += parts.back();
        }
        if (whole != becomes)
            return false;
        for (const std::string& part : parts) {
            const std::size_t bytes = unicode::characterAt(text, begin).bytes;
            fresh.put(part, begin, begin + bytes);
            begin += bytes;
        }
        return true;
    }

    void rewrite(AlignedText& text, const std::string& normal, const icu::Edits& edits) const {
        Rewriter fresh(text);
        UErrorCode failure = U_ZERO_ERROR;
        auto edit = edits.getFineIterator();
        while (edit.next(failure)) {
            const auto begin = static_cast<std::size_t>(edit.sourceIndex());
            const auto end = begin + static_cast<std::size_t>(edit.oldLength());
            const auto becomes = std::string_view(normal).substr(static_cast<std::size_t>(edit.destinationIndex()),
                                                                 static_cast<std::size_t>(edit.newLength()));
            if (!edit.hasChange())
                fresh.keep(begin, end);
            else if (!text.tracked() || !putEach(text.text(), begin, end, becomes, fresh))
                fresh.put(becomes, begin, end);
        }
        fresh.finish();
    }

    std::unique_ptr<const icu::FilteredNormalizer2> m_form;
};

/// The end of the grapheme that begins at `at`, by the rules of Unicode. The rules for flags and for emoji joined by
/// U+200D are left out: such graphemes have more than `longestGrapheme` bytes, and are never looked up.
std::size_t graphemeEnd(std::string_view text, std::size_t at) {
    const auto breakOf = [](char32_t code) {
        return u_getIntPropertyValue(static_cast<UChar32>(code), UCHAR_GRAPHEME_CLUSTER_BREAK);
    };
    unicode::Character character = unicode::characterAt(text, at);
    std::size_t end = at + character.bytes;
    if (end == text.size() ||
        (character.code < 0x80 && static_cast<unsigned char>(text[end]) < 0x80 && character.code != '\r'))
        return end;
    int before = breakOf(character.code);
    while (end < text.size()) {
        character = unicode::characterAt(text, end);
        const int here = breakOf(character.code);
        const bool isEnd = before == U_GCB_CONTROL || before == U_GCB_CR || before == U_GCB_LF ||
                           here == U_GCB_CONTROL || here == U_GCB_CR || here == U_GCB_LF;
        const bool hangul =
            (before == U_GCB_L && (here == U_GCB_L || here == U_GCB_V || here == U_GCB_LV || here == U_GCB_LVT)) ||
            ((before == U_GCB_LV || before == U_GCB_V) && (here == U_GCB_V || here == U_GCB_T)) ||
            ((before == U_GCB_LVT || before == U_GCB_T) && here == U_GCB_T);
        const bool joins = (before == U_GCB_CR && here == U_GCB_LF) ||
                           (!isEnd && (hangul || here == U_GCB_EXTEND || here == U_GCB_ZWJ ||
                                       here == U_GCB_SPACING_MARK || before == U_GCB_PREPEND));
        if (!joins)
            break;
        before = here;
        end += character.bytes;
    }
    return end;
}

class GraphemeMap : public Normalizer {
public:
    explicit GraphemeMap(std::shared_ptr<const Charsmap> map)
        : m_map(std::move(map)) {}

    void apply(AlignedText& text) const override {
        const std::string& old = text.text();
        Rewriter fresh(text);
        for (std::size_t at = 0; at < old.size();) {
            const std::size_t end = graphemeEnd(old, at);
            if (end - at > longestGrapheme || !mapWhole(old, at, end, fresh))
                mapCharacters(old, at, end, fresh);
            at = end;
        }
        fresh.finish();
    }

private:
    static constexpr std::size_t longestGrapheme = 5;

    /// Replaces all of [at, end) by the replacement of its shortest prefix in the map. This is what Hugging Face's
    /// library does.
    bool mapWhole(std::string_view text, std::size_t at, std::size_t end, Rewriter& fresh) const {
        const auto match = m_map->shortest(text.substr(0, end), at);
        if (match)
            fresh.put(match->replacement, at, end);
        return match.has_value();
    }

    void mapCharacters(std::string_view text, std::size_t at, std::size_t end, Rewriter& fresh) const {
        while (at < end) {
            const std::size_t next = at + unicode::characterAt(text, at).bytes;
            if (!mapWhole(text, at, next, fresh))
                fresh.keep(at, next);
            at = next;
        }
    }

    std::shared_ptr<const Charsmap> m_map;
};

class SentencePieceNormalizer : public Normalizer {
public:
    explicit SentencePieceNormalizer(SentencePieceRules rules)
        : m_rules(std::move(rules)) {}

    void apply(AlignedText& text) const override {
        const std::string& old = text.text();
        std::size_t at = 0;
        while (m_rules.mergeBlanks && at < old.size() && stepAt(old, at).text == " ")
            at += stepAt(old, at).bytes;
        const bool empty = at >= old.size();
        const std::string_view blank = m_rules.markBlanks ? spaceMark : std::string_view(" ");
        Rewriter fresh(text);
        if (!empty && m_rules.prefix && !m_rules.blanksAtEnds)
            fresh.put(blank, at, at);
        bool afterBlank = m_rules.mergeBlanks;
        for (; at < old.size();) {
            const Step step = stepAt(old, at);
            std::string_view piece = step.text;
            while (afterBlank && piece.starts_with(' '))
                piece.remove_prefix(1);
            put(piece, at, at + step.bytes, blank, fresh);
            if (!piece.empty())
                afterBlank = m_rules.mergeBlanks && piece.ends_with(' ');
            at += step.bytes;
        }
        while (m_rules.mergeBlanks && fresh.text().ends_with(blank))
            fresh.drop(blank.size());
        if (!empty && m_rules.prefix && m_rules.blanksAtEnds)
            fresh.put(blank, old.size(), old.size());
        fresh.finish();
    }

private:
    struct Step {
        std::size_t bytes;
        std::string_view text;
    };

    Step stepAt(std::string_view text, std::size_t at) const {
        std::size_t kept = 0;
        if (m_rules.kept)
            m_rules.kept->match(text, at, [&](std::size_t bytes, int) { kept = bytes; });
        if (kept == 0 && m_rules.map) {
            if (const auto match = m_rules.map->longest(text, at))
                return {match->bytes, match->replacement};
        }
        const std::size_t bytes = kept > 0 ? kept : unicode::characterAt(text, at).bytes;
        return {bytes, text.substr(at, bytes)};
    }

    static void put(std::string_view piece, std::size_t begin, std::size_t end, std::string_view blank,
                    Rewriter& fresh) {
        while (!piece.empty()) {
            const std::size_t plain = std::min(piece.find(' '), piece.size());
            if (plain > 0)
                fresh.put(piece.substr(0, plain), begin, end);
            if (plain < piece.size())
                fresh.put(blank, begin, end);
            piece.remove_prefix(std::min(plain + 1, piece.size()));
        }
    }

    SentencePieceRules m_rules;
};

} // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& subject) {
    std::uint32_t trieBytes = 0;
    if (blob.size() >= sizeof trieBytes)
        std::memcpy(&trieBytes, blob.data(), sizeof trieBytes);
    if (trieBytes == 0 || trieBytes % sizeof(std::uint32_t) != 0 || trieBytes > blob.size() - sizeof trieBytes)
        throw Error(fmt::format("is a character map of {} bytes that states an index of {}", blob.size(), trieBytes),
                    subject);
    m_units.resize(trieBytes / sizeof(std::uint32_t));
    std::memcpy(m_units.data(), blob.data() + sizeof trieBytes, trieBytes);
    m_replacements = blob.substr(sizeof trieBytes + trieBytes);
    if (m_replacements.empty() || m_replacements.back() != '\0')
        throw Error("is a character map whose last replacement does not end", subject);
    if (!unicode::isValid(m_replacements))
        throw Error("is a character map whose replacements are not UTF-8", subject);
}

template <typename Found>
void Charsmap::walk(std::string_view text, std::size_t at, Found found) const {
    std::uint32_t node = offsetOf(m_units[0]);
    for (std::size_t end = at; end < text.size(); ++end) {
        const auto byte = static_cast<unsigned char>(text[end]);
        if (byte == 0)
            return;
        node ^= byte;
        if (node >= m_units.size() || labelOf(m_units[node]) != byte)
            return;
        const bool whole = endsText(m_units[node]);
        node ^= offsetOf(m_units[node]);
        // A match that ends inside a character is ignored, because it would leave a part of the character.
        if (!whole || (end + 1 < text.size() && unicode::isContinuation(text[end + 1])))
            continue;
        const std::size_t place = node < m_units.size() ? valueOf(m_units[node]) : m_replacements.size();
        // A valid place is the beginning of a replacement.
        if (place >= m_replacements.size() || (place > 0 && m_replacements[place - 1] != '\0'))
            return;
        if (!found(Match{end + 1 - at, std::string_view(m_replacements.data() + place)}))
            return;
    }
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text, std::size_t at) const {
    std::optional<Match> best;
    walk(text, at, [&](const Match& match) {
        best = match;
        return true;
    });
    return best;
}

std::optional<Charsmap::Match> Charsmap::shortest(std::string_view text, std::size_t at) const {
    std::optional<Match> first;
    walk(text, at, [&](const Match& match) {
        first = match;
        return false;
    });
    return first;
}

std::optional<std::string> fromBase64(std::string_view text) {
    const auto valueOfLetter = [](char letter) -> int {
        if (letter >= 'A' && letter <= 'Z')
            return letter - 'A';
        if (letter >= 'a' && letter <= 'z')
            return letter - 'a' + 26;
        if (letter >= '0' && letter <= '9')
            return letter - '0' + 52;
        return letter == '+' ? 62 : letter == '/' ? 63 : -1;
    };
    while (text.ends_with('='))
        text.remove_suffix(1);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char letter : text) {
        const int value = valueOfLetter(letter);
        if (value < 0)
            return std::nullopt;
        bits = (bits << 6U) | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU));
        }
    }
    return bytes;
}

NormalizerPtr makeNormalForm(NormalForm form) {
    return std::make_unique<Form>(form);
}

NormalizerPtr makeGraphemeMap(std::shared_ptr<const Charsmap> map) {
    return std::make_unique<GraphemeMap>(std::move(map));
}

NormalizerPtr makeSentencePiece(SentencePieceRules rules) {
    return std::make_unique<SentencePieceNormalizer>(std::move(rules));
}

} // namespace secateur
