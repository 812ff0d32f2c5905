#include "backends/tokenizers/pre_tokenizers.h"

#include "backends/tokenizers/unicode.h"

#include <algorithm>
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
    Known{gpt2Pattern, gpt2Rule},
    Known{llama3Pattern, llama3Rule},
    Known{qwen2Pattern, qwen2Rule},
};

/// Finds the pieces of a range of a text by a ScanRule.
class Scanner {
public:
    Scanner(const ScanRule& rule, std::string_view text, WordRange range)
        : m_rule(rule)
        , m_text(text.substr(0, range.end))
        , m_classes(unicode::classes())
        , m_end(range.end) {}

    /// The end of the piece that begins at `at`.
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

    /// Length in bytes of a contraction ('s, 't, 're, 've, 'm, 'll, 'd) at `at`; 0 if there is none.
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
        constexpr std::string_view longS = "\xC5\xBF"; // U+017F (long s), whose upper case is S
        return m_rule.foldedContractions && m_text.substr(at + 1).starts_with(longS) ? 3 : 0;
    }

    /// The end of a piece that consists of one character and the letters, digits or marks after it; 0 if there is no
    /// such piece.
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

    /// The end of a piece of white space. The last of several white-space characters belongs to the next piece, unless
    /// the text ends after it. With ScanRule::newlinesApart, the piece ends after the last line end, if it has one.
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

/// A part of a word: a delimiter, or the text between delimiters.
struct Part {
    WordRange range;
    bool delimiter = false;
};

WordRange rangeOf(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

/// Divides a word into parts, given its delimiters.
class Parts {
public:
    Parts(std::vector<Part>& parts, WordRange word)
        : m_parts(parts)
        , m_word(word)
        , m_at(word.begin) {
        m_parts.clear();
    }
    void delimiter(std::size_t begin, std::size_t end) {
        rest(begin);
        m_parts.push_back({rangeOf(begin, end), true});
        m_at = end;
    }
    void finish() { rest(m_word.end); }

private:
    void rest(std::size_t end) {
        if (m_at < end)
            m_parts.push_back({rangeOf(m_at, end), false});
    }
    std::vector<Part>& m_parts;
    WordRange m_word;
    std::size_t m_at;
};

class Split : public PreTokenizer {
public:
    Split(DelimiterPattern pattern, Delimiters delimiters, bool invert)
        : m_pattern(std::move(pattern))
        , m_delimiters(delimiters)
        , m_invert(invert) {}

    void apply(Section& section) const override {
        std::vector<WordRange> words;
        std::vector<Part> parts;
        for (const WordRange& word : section.words) {
            find(section.text.text(), word, parts);
            if (m_invert)
                std::ranges::for_each(parts, [](Part& part) { part.delimiter = !part.delimiter; });
            join(parts, words);
        }
        section.words = std::move(words);
    }

private:
    void find(std::string_view whole, WordRange word, std::vector<Part>& parts) const {
        const std::string_view text = whole.substr(0, word.end);
        Parts found(parts, word);
        if (const auto* kind = std::get_if<DelimiterKind>(&m_pattern)) {
            for (std::size_t at = word.begin; at < word.end;) {
                const unicode::Character character = unicode::characterAt(text, at);
                if ((*kind)(character.code))
                    found.delimiter(at, at + character.bytes);
                at += character.bytes;
            }
        } else if (const auto* delimiter = std::get_if<std::string>(&m_pattern)) {
            for (std::size_t at = text.find(*delimiter, word.begin);
                 at != std::string_view::npos && !delimiter->empty();
                 at = text.find(*delimiter, at + delimiter->size()))
                found.delimiter(at, at + delimiter->size());
        } else {
            std::get<std::shared_ptr<const Regex>>(m_pattern)->forEach(
                text.substr(word.begin),
                [&](std::size_t begin, std::size_t end) { found.delimiter(word.begin + begin, word.begin + end); });
        }
        found.finish();
    }

    void join(const std::vector<Part>& parts, std::vector<WordRange>& words) const {
        switch (m_delimiters) {
        case Delimiters::removed:
            for (const Part& part : parts) {
                if (!part.delimiter)
                    words.push_back(part.range);
            }
            return;
        case Delimiters::isolated:
            for (const Part& part : parts)
                words.push_back(part.range);
            return;
        case Delimiters::mergedWithNext:
            return joinWithNext(parts, words);
        default:
            joinWithPrevious(parts, words);
        }
    }

    void joinWithPrevious(const std::vector<Part>& parts, std::vector<WordRange>& words) const {
        const bool contiguous = m_delimiters == Delimiters::contiguous;
        const std::size_t before = words.size();
        bool previous = false;
        for (const Part& part : parts) {
            const bool joins = contiguous ? part.delimiter == previous : part.delimiter && !previous;
            if (joins && words.size() > before)
                words.back().end = part.range.end;
            else
                words.push_back(part.range);
            previous = part.delimiter;
        }
    }

    static void joinWithNext(const std::vector<Part>& parts, std::vector<WordRange>& words) {
        const std::size_t before = words.size();
        bool next = false;
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
            if (part->delimiter && !next && words.size() > before)
                words.back().begin = part->range.begin;
            else
                words.push_back(part->range);
            next = part->delimiter;
        }
        std::reverse(words.begin() + static_cast<std::ptrdiff_t>(before), words.end());
    }

    DelimiterPattern m_pattern;
    Delimiters m_delimiters;
    bool m_invert;
};

class Scan : public PreTokenizer {
public:
    explicit Scan(const ScanRule& rule)
        : m_rule(rule) {}

    void apply(Section& section) const override {
        std::vector<WordRange> words;
        words.reserve(section.text.size() / 4);
        for (const WordRange& word : section.words)
            scan(m_rule, section.text.text(), word, words);
        section.words = std::move(words);
    }

private:
    ScanRule m_rule;
};

/// Rewrites each word by a function, and updates the ranges of the words.
template <typename Write>
void rewriteWords(Section& section, Write write) {
    Rewriter fresh(section.text);
    for (WordRange& word : section.words) {
        const std::size_t begin = fresh.text().size();
        write(fresh, word);
        word = rangeOf(begin, fresh.text().size());
    }
    fresh.finish();
}

class PrefixBlank : public PreTokenizer {
public:
    void apply(Section& section) const override {
        const std::string& text = section.text.text();
        rewriteWords(section, [&](Rewriter& fresh, const WordRange& word) {
            if (word.begin < word.end && text[word.begin] != ' ')
                fresh.putBefore(" ", word.begin);
            fresh.keep(word.begin, word.end);
        });
    }
};

class Metaspace : public PreTokenizer {
public:
    Metaspace(std::string mark, PrependScheme scheme, bool split)
        : m_mark(mark)
        , m_scheme(scheme)
        , m_splitter(split ? makeSplit(std::move(mark), Delimiters::mergedWithNext) : nullptr) {}

    void apply(Section& section) const override {
        const std::string& text = section.text.text();
        rewriteWords(section, [&](Rewriter& fresh, const WordRange& word) {
            const std::string_view spelled = std::string_view(text).substr(word.begin, word.end - word.begin);
            const bool marked = spelled.starts_with(m_mark) || spelled.starts_with(' ');
            const bool wanted = m_scheme == PrependScheme::always ||
                                (m_scheme == PrependScheme::first && section.text.beginsAt(word.begin));
            if (wanted && !marked)
                fresh.putBefore(m_mark, word.begin);
            std::size_t kept = word.begin;
            const std::string_view upTo = std::string_view(text).substr(0, word.end);
            for (std::size_t at = upTo.find(' ', kept); at < word.end; at = upTo.find(' ', kept)) {
                fresh.keep(kept, at);
                fresh.put(m_mark, at, at + 1);
                kept = at + 1;
            }
            fresh.keep(kept, word.end);
        });
        if (m_splitter)
            m_splitter->apply(section);
    }

private:
    std::string m_mark;
    PrependScheme m_scheme;
    PreTokenizerPtr m_splitter;
};

class WordsAndOthers : public PreTokenizer {
public:
    void apply(Section& section) const override {
        std::vector<WordRange> words;
        const std::string_view text = section.text.text();
        const auto kindOf = [&](const unicode::Character& character) {
            return unicode::isSpace(character.code) ? 0 : unicode::isWordCharacter(character.code) ? 1 : 2;
        };
        for (const WordRange& word : section.words) {
            int last = 0;
            for (std::size_t at = word.begin; at < word.end;) {
                const unicode::Character character = unicode::characterAt(text, at);
                const int kind = kindOf(character);
                if (kind != 0 && kind == last)
                    words.back().end = static_cast<std::uint32_t>(at + character.bytes);
                else if (kind != 0)
                    words.push_back(rangeOf(at, at + character.bytes));
                last = kind;
                at += character.bytes;
            }
        }
        section.words = std::move(words);
    }
};

} // namespace

std::optional<ScanRule> knownScanRule(std::string_view pattern) {
    for (const Known& row : known) {
        if (row.pattern == pattern)
            return row.rule;
    }
    return std::nullopt;
}

void scan(const ScanRule& rule, std::string_view text, WordRange range, std::vector<WordRange>& pieces) {
    const Scanner scanner(rule, text, range);
    for (std::size_t at = range.begin; at < range.end;) {
        const std::size_t end = scanner.pieceEnd(at);
        pieces.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
        at = end;
    }
}

PreTokenizerPtr makeSplit(DelimiterPattern pattern, Delimiters delimiters, bool invert) {
    return std::make_unique<Split>(std::move(pattern), delimiters, invert);
}

PreTokenizerPtr makeScan(const ScanRule& rule) {
    return std::make_unique<Scan>(rule);
}

PreTokenizerPtr makePrefixBlank() {
    return std::make_unique<PrefixBlank>();
}

PreTokenizerPtr makeMetaspace(std::string mark, PrependScheme scheme, bool split) {
    return std::make_unique<Metaspace>(std::move(mark), scheme, split);
}

PreTokenizerPtr makeWordsAndOthers() {
    return std::make_unique<WordsAndOthers>();
}

} // namespace secateur
