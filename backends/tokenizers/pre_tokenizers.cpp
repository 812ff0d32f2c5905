#include "backends/tokenizers/pre_tokenizers.h"

#include "backends/tokenizers/unicode.h"

#include <algorithm>

namespace secateur {

namespace {

/// A part of a word, and whether it is a delimiter.
struct Part {
    Cut range;
    bool delimiter = false;
};

Cut cutOf(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

/// The parts of a word, given where its delimiters are.
class Parts {
public:
    Parts(std::vector<Part>& parts, Cut word)
        : m_parts(parts)
        , m_word(word)
        , m_at(word.begin) {
        m_parts.clear();
    }
    void delimiter(std::size_t begin, std::size_t end) {
        rest(begin);
        m_parts.push_back({cutOf(begin, end), true});
        m_at = end;
    }
    void finish() { rest(m_word.end); }

private:
    void rest(std::size_t end) {
        if (m_at < end)
            m_parts.push_back({cutOf(m_at, end), false});
    }
    std::vector<Part>& m_parts;
    Cut m_word;
    std::size_t m_at;
};

class Split : public PreTokenizer {
public:
    Split(DelimiterPattern pattern, Delimiters delimiters, bool invert)
        : m_pattern(std::move(pattern))
        , m_delimiters(delimiters)
        , m_invert(invert) {}

    void apply(Section& section) const override {
        std::vector<Cut> words;
        std::vector<Part> parts;
        for (const Cut& word : section.words) {
            find(section.text.text(), word, parts);
            if (m_invert)
                std::ranges::for_each(parts, [](Part& part) { part.delimiter = !part.delimiter; });
            join(parts, words);
        }
        section.words = std::move(words);
    }

private:
    void find(std::string_view whole, Cut word, std::vector<Part>& parts) const {
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

    void join(const std::vector<Part>& parts, std::vector<Cut>& words) const {
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

    void joinWithPrevious(const std::vector<Part>& parts, std::vector<Cut>& words) const {
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

    static void joinWithNext(const std::vector<Part>& parts, std::vector<Cut>& words) {
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
        std::vector<Cut> words;
        words.reserve(section.text.size() / 4);
        for (const Cut& word : section.words)
            scan(m_rule, section.text.text(), word, words);
        section.words = std::move(words);
    }

private:
    ScanRule m_rule;
};

/// Rewrites every word by a function that writes it, and keeps them apart.
template <typename Write>
void rewriteWords(Section& section, Write write) {
    Rewriter fresh(section.text);
    for (Cut& word : section.words) {
        const std::size_t begin = fresh.text().size();
        write(fresh, word);
        word = cutOf(begin, fresh.text().size());
    }
    fresh.finish();
}

class PrefixBlank : public PreTokenizer {
public:
    void apply(Section& section) const override {
        const std::string& text = section.text.text();
        rewriteWords(section, [&](Rewriter& fresh, const Cut& word) {
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
        rewriteWords(section, [&](Rewriter& fresh, const Cut& word) {
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
        std::vector<Cut> words;
        const std::string_view text = section.text.text();
        const auto kindOf = [&](const unicode::Character& character) {
            return unicode::isSpace(character.code) ? 0 : unicode::isWordCharacter(character.code) ? 1 : 2;
        };
        for (const Cut& word : section.words) {
            int last = 0;
            for (std::size_t at = word.begin; at < word.end;) {
                const unicode::Character character = unicode::characterAt(text, at);
                const int kind = kindOf(character);
                if (kind != 0 && kind == last)
                    words.back().end = static_cast<std::uint32_t>(at + character.bytes);
                else if (kind != 0)
                    words.push_back(cutOf(at, at + character.bytes));
                last = kind;
                at += character.bytes;
            }
        }
        section.words = std::move(words);
    }
};

} // namespace

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
