#include "analysis/text/sequences.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

bool isBlank(std::string_view line) {
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// The special tokens around a text.
struct SpecialTokens {
    Encoding front;
    Encoding end;
};

Encoding part(const Encoding& whole, std::size_t begin, std::size_t count) {
    const auto from = static_cast<std::ptrdiff_t>(begin);
    const auto to = from + static_cast<std::ptrdiff_t>(count);
    return {
        {whole.ids.begin() + from, whole.ids.begin() + to}, {whole.types.begin() + from, whole.types.begin() + to}, {}};
}

/// The special tokens that the tokenizer puts around any text. Finds them by encoding a letter with and without them.
SpecialTokens specialTokensOf(const Tokenizer& tokenizer) {
    const std::string_view sample = "a";
    const Encoding whole = tokenizer.encode(sample);
    const Encoding bare = tokenizer.encode(sample, {.addSpecial = false});
    const auto found = std::search(whole.ids.begin(), whole.ids.end(), bare.ids.begin(), bare.ids.end());
    // If the vocabulary lacks the letter, only the number of special tokens is known.
    const std::size_t leading = tokenizer.card().addsBos ? 1 : 0;
    const std::size_t before = bare.ids.empty() ? leading : static_cast<std::size_t>(found - whole.ids.begin());
    const std::size_t after = whole.ids.size() - before - bare.ids.size();
    return {part(whole, 0, before), part(whole, whole.ids.size() - after, after)};
}

SpecialTokens specialTokensOf(const Tokenizer& tokenizer, BosRule rule) {
    SpecialTokens around = specialTokensOf(tokenizer);
    const bool hasFront = !around.front.ids.empty();
    const auto bos = tokenizer.card().bos;
    if (rule == BosRule::never)
        around.front = {};
    else if (rule == BosRule::always && !hasFront && bos)
        around.front = {{*bos}, {0}, {}};
    return around;
}

void append(TokenSequence& sequence, const Encoding& tokens, std::size_t begin, std::size_t count) {
    const Encoding piece = part(tokens, begin, count);
    sequence.ids.insert(sequence.ids.end(), piece.ids.begin(), piece.ids.end());
    sequence.types.insert(sequence.types.end(), piece.types.begin(), piece.types.end());
}

class SequenceBuilder {
public:
    SequenceBuilder(const Tokenizer& tokenizer, const SequenceRules& rules)
        : m_tokenizer(tokenizer)
        , m_rules(rules)
        , m_special(specialTokensOf(tokenizer, rules.bos)) {
        const std::size_t special = m_special.front.ids.size() + m_special.end.ids.size();
        if (rules.length <= static_cast<std::int64_t>(special))
            throw Error(fmt::format("leaves no room for text: a sequence has {} special tokens", special),
                        fmt::format("a length of {} tokens", rules.length));
    }

    bool isFull() const { return m_set.tokens >= m_rules.mostTokens; }

    void add(std::string_view text, std::size_t document) {
        const Encoding tokens = m_tokenizer.encode(text, {.addSpecial = false, .special = m_rules.special});
        const bool onceOnly = m_rules.split == TextSplit::stream || m_rules.split == TextSplit::windows ||
                              m_rules.bos == BosRule::firstOnly;
        std::size_t at = 0;
        while (at < tokens.ids.size() && !isFull()) {
            const bool first = at == 0;
            const Encoding& front = first || !onceOnly ? m_special.front : m_none;
            const Encoding& end = onceOnly && m_rules.bos != BosRule::firstOnly ? m_none : m_special.end;
            const std::size_t room = static_cast<std::size_t>(m_rules.length) - front.ids.size() - end.ids.size();
            const std::size_t count = std::min(room, tokens.ids.size() - at);
            const bool tooShort = m_rules.split == TextSplit::windows
                                      ? count < room
                                      : static_cast<std::int64_t>(count) < m_rules.shortestTail;
            if (!first && tooShort) {
                ++m_set.droppedTails;
                return;
            }
            TokenSequence sequence;
            sequence.document = document;
            append(sequence, front, 0, front.ids.size());
            append(sequence, tokens, at, count);
            append(sequence, end, 0, end.ids.size());
            keep(std::move(sequence));
            at += count;
        }
    }

    SequenceSet take() { return std::move(m_set); }

private:
    void keep(TokenSequence sequence) {
        const auto left = static_cast<std::size_t>(m_rules.mostTokens - m_set.tokens);
        if (sequence.ids.size() > left) {
            sequence.ids.resize(left);
            sequence.types.resize(left);
        }
        m_set.tokens += static_cast<std::int64_t>(sequence.ids.size());
        m_set.sequences.push_back(std::move(sequence));
    }

    const Tokenizer& m_tokenizer;
    const SequenceRules& m_rules;
    SpecialTokens m_special;
    Encoding m_none;
    SequenceSet m_set;
};

} // namespace

std::vector<std::string_view> splitDocuments(std::string_view text, TextSplit split) {
    if (split == TextSplit::stream || split == TextSplit::windows)
        return isBlank(text) ? std::vector<std::string_view>() : std::vector{text};
    std::vector<std::string_view> documents;
    std::size_t begin = 0; // beginning of the current document
    std::size_t end = 0;   // end of the last line of the document that is not blank
    int blankLines = 0;
    const std::size_t enough = split == TextSplit::line ? 0 : 2;
    const auto flush = [&] {
        if (end > begin)
            documents.push_back(text.substr(begin, end - begin));
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t lineEnd = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, lineEnd - at);
        const std::size_t next = std::min(lineEnd + 1, text.size());
        if (isBlank(line)) {
            ++blankLines;
        } else {
            if (static_cast<std::size_t>(blankLines) >= enough || end == 0) {
                flush();
                begin = at;
            }
            end = line.ends_with('\r') ? lineEnd - 1 : lineEnd;
            blankLines = 0;
        }
        at = next;
    }
    flush();
    return documents;
}

SequenceSet makeSequences(const std::vector<std::string_view>& documents, const Tokenizer& tokenizer,
                          const SequenceRules& rules, const Progress& progress) {
    SequenceBuilder builder(tokenizer, rules);
    for (std::size_t i = 0; i < documents.size() && !builder.isFull(); ++i) {
        progress.report(static_cast<double>(i) / static_cast<double>(documents.size()), "tokenising");
        builder.add(documents[i], i);
    }
    return builder.take();
}

} // namespace secateur
