#include "backends/tokenizers/scanners.h"

#include "backends/tokenizers/unicode.h"

#include <array>

namespace secateur {

namespace {

using unicode::letter;
using unicode::newline;
using unicode::number;
using unicode::space;

struct Known {
    std::string_view pattern;
    ScanRule rule;
};

constexpr std::array known{
    Known{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2Rule},
    Known{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        llama3Rule},
    Known{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        qwen2Rule},
};

/// Goes through one range of a text.
class Scanner {
public:
    Scanner(const ScanRule& rule, std::string_view text, Cut range)
        : m_rule(rule)
        , m_text(text.substr(0, range.end))
        , m_classes(unicode::classes())
        , m_end(range.end) {}

    /// Where the piece that begins at `at` ends.
    std::size_t pieceEnd(std::size_t at) const {
        if (m_text[at] == '\'') {
            if (const std::size_t length = contraction(at); length > 0)
                return at + length;
        }
        const Step first = step(at);
        if (first.bits & letter)
            return run<letter>(first.next);
        if (const std::size_t end = afterPrefix(at, first); end > 0)
            return end;
        if (first.bits & number)
            return digits(first.next);
        if (first.bits & space)
            return blanks(at);
        return marks(first.next);
    }

private:
    struct Step {
        std::uint8_t bits;
        std::size_t next;
    };

    Step step(std::size_t at) const {
        const auto byte = static_cast<unsigned char>(m_text[at]);
        if (byte < 0x80)
            return {m_classes[byte], at + 1};
        const unicode::Character character = unicode::characterAt(m_text, at);
        return {m_classes[character.code], at + character.bytes};
    }

    template <std::uint8_t bits>
    std::size_t run(std::size_t at) const {
        while (at < m_end) {
            const Step here = step(at);
            if (!(here.bits & bits))
                break;
            at = here.next;
        }
        return at;
    }

    /// Bytes of 's, 't, 're, 've, 'm, 'll, 'd at `at`; 0 when there is none.
    std::size_t contraction(std::size_t at) const {
        const auto letterAt = [&](std::size_t i) {
            const char found = i < m_end ? m_text[i] : '\0';
            return m_rule.foldedContractions && found >= 'A' && found <= 'Z' ? static_cast<char>(found + 32) : found;
        };
        const char first = letterAt(at + 1);
        const char second = letterAt(at + 2);
        if (first == 's' || first == 't' || first == 'm' || first == 'd')
            return 2;
        if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
            return 3;
        constexpr std::string_view longS = "\xC5\xBF"; // whose upper case is S too
        return m_rule.foldedContractions && m_text.substr(at + 1).starts_with(longS) ? 3 : 0;
    }

    /// The end of a piece that begins with one character before its letters, digits or marks; 0 when it is no such.
    std::size_t afterPrefix(std::size_t at, const Step& first) const {
        const bool blank = m_text[at] == ' ';
        const bool mayPrefix = m_rule.anyLetterPrefix ? !(first.bits & (letter | number | newline)) : blank;
        if (!mayPrefix || first.next >= m_end)
            return 0;
        const Step second = step(first.next);
        if (second.bits & letter)
            return run<letter>(second.next);
        if (!blank || (second.bits & space))
            return 0;
        if (second.bits & number)
            return m_rule.mostDigits == 0 ? run<number>(second.next) : 0;
        return marks(second.next);
    }

    std::size_t digits(std::size_t at) const {
        if (m_rule.mostDigits == 0)
            return run<number>(at);
        for (int count = 1; count < m_rule.mostDigits && at < m_end; ++count) {
            const Step here = step(at);
            if (!(here.bits & number))
                break;
            at = here.next;
        }
        return at;
    }

    std::size_t marks(std::size_t at) const {
        while (at < m_end) {
            const Step here = step(at);
            if (here.bits & (letter | number | space))
                break;
            at = here.next;
        }
        return m_rule.newlinesApart ? run<newline>(at) : at;
    }

    /// Blanks leave their last one to what follows, unless a line end is among them (where those are apart).
    std::size_t blanks(std::size_t at) const {
        std::size_t last = at;
        std::size_t end = at;
        std::size_t afterNewline = 0;
        while (end < m_end) {
            const Step here = step(end);
            if (!(here.bits & space))
                break;
            last = end;
            end = here.next;
            if (here.bits & newline)
                afterNewline = end;
        }
        if (m_rule.newlinesApart && afterNewline > 0)
            return afterNewline;
        return end == m_end || last == at ? end : last;
    }

    const ScanRule& m_rule;
    std::string_view m_text;
    const std::uint8_t* m_classes;
    std::size_t m_end;
};

} // namespace

std::optional<ScanRule> knownScanRule(std::string_view pattern) {
    for (const Known& row : known) {
        if (row.pattern == pattern)
            return row.rule;
    }
    return std::nullopt;
}

void scan(const ScanRule& rule, std::string_view text, Cut range, std::vector<Cut>& pieces) {
    const Scanner scanner(rule, text, range);
    for (std::size_t at = range.begin; at < range.end;) {
        const std::size_t end = scanner.pieceEnd(at);
        pieces.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
        at = end;
    }
}

} // namespace secateur
