#include "backends/tokenizers/model_builders.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace secateur {

namespace {

/// Reads JSON values one after another, without building a document.
class Cursor {
public:
    Cursor(std::string_view text, const std::string& subject)
        : m_text(text)
        , m_subject(subject) {}

    std::size_t position() const { return m_at; }

    [[noreturn]] void fail() const { throw Error(fmt::format("is not valid JSON (byte {})", m_at + 1), m_subject); }

    char peek() {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || (m_text[m_at] >= '\t' && m_text[m_at] <= '\r')))
            ++m_at;
        return m_at < m_text.size() ? m_text[m_at] : '\0';
    }
    bool take(char letter) {
        if (peek() != letter)
            return false;
        ++m_at;
        return true;
    }
    void expect(char letter) {
        if (!take(letter))
            fail();
    }
    /// Whether another element follows. Skips the comma before the element, or the closing character `end`.
    bool more(char end, bool first) {
        if (take(end))
            return false;
        if (!first)
            expect(',');
        return true;
    }

    std::string text() {
        expect('"');
        std::string value;
        for (;;) {
            const std::size_t plain = m_at;
            while (m_at < m_text.size() && m_text[m_at] != '"' && m_text[m_at] != '\\' &&
                   static_cast<unsigned char>(m_text[m_at]) >= 0x20)
                ++m_at;
            value += m_text.substr(plain, m_at - plain);
            if (m_at >= m_text.size() || static_cast<unsigned char>(m_text[m_at]) < 0x20)
                fail();
            if (m_text[m_at++] == '"')
                return value;
            escape(value);
        }
    }

    template <typename Number>
    bool number(Number& value) {
        peek();
        const char* begin = m_text.data() + m_at;
        const auto [end, failure] = std::from_chars(begin, m_text.data() + m_text.size(), value);
        if (failure != std::errc())
            return false;
        m_at += static_cast<std::size_t>(end - begin);
        return true;
    }

    /// Skips a value. Checks only that brackets are balanced, because another reader checks the value.
    void skip() {
        int depth = 0;
        do {
            const char letter = peek();
            if (letter == '"') {
                skipText();
            } else if (letter == '\0') {
                fail();
            } else {
                depth += letter == '{' || letter == '[' ? 1 : letter == '}' || letter == ']' ? -1 : 0;
                ++m_at;
                const bool scalar = letter != '{' && letter != '[' && letter != '}' && letter != ']';
                while (scalar && depth == 0 && m_at < m_text.size() && !ends(m_text[m_at]))
                    ++m_at;
            }
        } while (depth > 0);
    }

private:
    static bool ends(char letter) {
        return letter == ',' || letter == '}' || letter == ']' || letter == ' ' || (letter >= '\t' && letter <= '\r');
    }

    void skipText() {
        for (++m_at; m_at < m_text.size() && m_text[m_at] != '"'; ++m_at) {
            if (m_text[m_at] == '\\')
                ++m_at;
        }
        if (m_at >= m_text.size())
            fail();
        ++m_at;
    }

    char32_t fourDigits() {
        unsigned code = 0;
        const char* begin = m_text.data() + m_at;
        if (m_text.size() - m_at < 4 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4)
            fail();
        m_at += 4;
        return code;
    }

    void escape(std::string& value) {
        static constexpr std::string_view letters = "\"\\/bfnrt";
        static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        const char letter = m_at < m_text.size() ? m_text[m_at++] : '\0';
        if (const std::size_t known = letters.find(letter); letter != '\0' && known != std::string_view::npos) {
            value += meanings[known];
            return;
        }
        if (letter != 'u')
            fail();
        char32_t code = fourDigits();
        if (code >= 0xD800 && code <= 0xDBFF && m_text.substr(m_at).starts_with("\\u")) {
            m_at += 2;
            const char32_t low = fourDigits();
            if (low < 0xDC00 || low > 0xDFFF)
                fail();
            code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
        }
        if (code >= 0xD800 && code <= 0xDFFF)
            fail();
        unicode::append(value, code);
    }

    std::string_view m_text;
    const std::string& m_subject;
    std::size_t m_at = 0;
};

/// Reads the object "model" and cuts out its two long lists. @param copied end of the text that was copied to
/// parts.rest
void cutModel(Cursor& cursor, std::string_view text, TokenizerText& parts, std::size_t& copied) {
    if (cursor.peek() != '{')
        return cursor.skip();
    cursor.expect('{');
    for (bool first = true; cursor.more('}', first); first = false) {
        const std::string key = cursor.text();
        cursor.expect(':');
        const char opening = cursor.peek();
        const std::size_t begin = cursor.position();
        cursor.skip();
        if ((key != "vocab" && key != "merges") || (opening != '{' && opening != '['))
            continue;
        std::string_view& list = key == "vocab" ? parts.vocab : parts.merges;
        if (!list.empty())
            continue; // a repeated key stays in parts.rest, whose reader rejects it
        list = text.substr(begin, cursor.position() - begin);
        parts.rest.append(text.substr(copied, begin - copied)).append("null");
        copied = cursor.position();
    }
}

/// Splits a line with several spaces at the first space that divides it into two tokens. Empty if there is no such
/// space.
MergeHalves cutLine(const std::string& line, const Vocabulary& vocabulary) {
    if (line.size() > 2 * longestToken + 1)
        return {};
    for (std::size_t blank = line.find(' '); blank != std::string::npos; blank = line.find(' ', blank + 1)) {
        if (vocabulary.find(line.substr(0, blank)) && vocabulary.find(line.substr(blank + 1)))
            return {line.substr(0, blank), line.substr(blank + 1)};
    }
    return {};
}

} // namespace

TokenizerText cutTokenizerText(std::string_view text, const std::string& subject) {
    TokenizerText parts;
    std::size_t copied = 0; // end of the text that was copied to parts.rest
    Cursor cursor(text, subject);
    cursor.expect('{');
    for (bool first = true; cursor.more('}', first); first = false) {
        const std::string key = cursor.text();
        cursor.expect(':');
        if (key == "model")
            cutModel(cursor, text, parts, copied);
        else
            cursor.skip();
    }
    parts.rest += text.substr(copied);
    return parts;
}

std::vector<ListedToken> readTokenList(std::string_view json, const std::string& subject) {
    constexpr std::size_t bytesOfToken = 16;
    std::vector<ListedToken> tokens;
    tokens.reserve(json.size() / bytesOfToken);
    Cursor cursor(json, subject);
    const bool scored = cursor.peek() == '[';
    cursor.expect(scored ? '[' : '{');
    for (bool first = true; cursor.more(scored ? ']' : '}', first); first = false) {
        ListedToken token;
        if (scored)
            cursor.expect('[');
        token.text = cursor.text();
        cursor.expect(scored ? ',' : ':');
        const bool read = scored ? cursor.number(token.score) : cursor.number(token.id);
        const char next = cursor.peek();
        if (!read || (next != ',' && next != '}' && next != ']'))
            throw Error(
                fmt::format("expected a {} for the token {}", scored ? "score" : "whole number", inQuotes(token.text)),
                subject);
        if (scored) {
            cursor.expect(']');
            token.id = static_cast<std::int64_t>(tokens.size());
        }
        tokens.push_back(std::move(token));
    }
    return tokens;
}

MergeHalves mergeHalves(std::string_view line) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos)
        return {std::string(line), {}};
    return {std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

std::vector<MergeHalves> readMergeList(std::string_view json, const std::string& subject) {
    constexpr std::size_t bytesOfMerge = 12;
    std::vector<MergeHalves> merges;
    merges.reserve(json.size() / bytesOfMerge);
    Cursor cursor(json, subject);
    cursor.expect('[');
    for (bool first = true; cursor.more(']', first); first = false) {
        if (cursor.take('[')) {
            std::string left = cursor.text();
            cursor.expect(',');
            merges.emplace_back(std::move(left), cursor.text());
            cursor.expect(']');
        } else {
            merges.push_back(mergeHalves(cursor.text()));
        }
    }
    return merges;
}

std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject) {
    if (tokens.empty())
        throw Error("has no tokens", subject);
    auto vocabulary = std::make_shared<Vocabulary>(tokens.size(), subject);
    for (const ListedToken& token : tokens) {
        if (!unicode::isValid(token.text))
            throw Error(fmt::format("has a token that is not UTF-8, of id {}", token.id), subject);
        if (token.text.size() > longestToken)
            throw Error(fmt::format("has a token of {} bytes, with id {}; the limit is {}", token.text.size(), token.id,
                                    longestToken),
                        subject);
        vocabulary->add(token.text, token.id);
    }
    return vocabulary;
}

std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject) {
    std::vector<BpeMerge> resolved;
    resolved.reserve(merges.size());
    std::string result;
    for (const MergeHalves& merge : merges) {
        const auto fail = [&](const std::string& why) {
            throw Error(fmt::format("merge {} {}", resolved.size(), why), subject);
        };
        const MergeHalves halves = merge.second.empty() ? cutLine(merge.first, vocabulary) : merge;
        const std::string& left = halves.first;
        const std::string& right = halves.second;
        if (left.empty() || right.empty())
            fail(fmt::format("is {}, expected two tokens separated by a space", inQuotes(merge.first)));
        const auto idOf = [&](const std::string& token) {
            const auto id = vocabulary.find(token);
            if (!id)
                fail(fmt::format("of {} and {} needs {}, which is not in the vocabulary", inQuotes(left),
                                 inQuotes(right), inQuotes(token)));
            return *id;
        };
        result = left;
        result += std::string_view(right).substr(right.starts_with(continuationPrefix) ? continuationPrefix.size() : 0);
        resolved.push_back({idOf(left), idOf(right), idOf(result), static_cast<std::uint32_t>(resolved.size())});
    }
    return resolved;
}

namespace {

void emitUnknown(std::string_view word, int unknown, const Vocabulary& vocabulary, std::vector<TokenPiece>& pieces) {
    if (unknown < 0)
        vocabulary.refuseText(word);
    pieces.push_back({unknown, static_cast<std::uint32_t>(word.size())});
}

} // namespace

WordPiece::WordPiece(std::shared_ptr<const Vocabulary> vocabulary, const std::string& continuationPrefix, int unknown,
                     std::size_t longestWord)
    : m_vocabulary(std::move(vocabulary))
    , m_unknown(unknown)
    , m_longestWord(longestWord) {
    for (int id = 0; id < m_vocabulary->size(); ++id) {
        const std::string_view text = m_vocabulary->text(id);
        m_first.add(text, id);
        if (text.starts_with(continuationPrefix))
            m_further.add(text.substr(continuationPrefix.size()), id);
    }
}

bool WordPiece::split(std::string_view word, std::vector<TokenPiece>& pieces) const {
    for (std::size_t at = 0; at < word.size();) {
        TokenPiece longest;
        (at == 0 ? m_first : m_further).match(word, at, [&](std::size_t bytes, int id) {
            longest = {id, static_cast<std::uint32_t>(bytes)};
        });
        if (longest.bytes == 0)
            return false;
        pieces.push_back(longest);
        at += longest.bytes;
    }
    return true;
}

void WordPiece::encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const {
    std::size_t count = 0;
    const bool cacheable = word.size() <= WordCache::longestWord;
    if (const TokenPiece* known = cacheable ? cache.find(word, count) : nullptr) {
        pieces.insert(pieces.end(), known, known + count);
        return;
    }
    const std::size_t before = pieces.size();
    const auto characters =
        static_cast<std::size_t>(std::ranges::count_if(word, [](char byte) { return !unicode::isContinuation(byte); }));
    if (characters > m_longestWord || !split(word, pieces)) {
        pieces.resize(before);
        emitUnknown(word, m_unknown, *m_vocabulary, pieces);
    }
    if (cacheable)
        cache.remember(word, std::span(pieces).subspan(before));
}

void WordLevel::encode(std::string_view word, WordCache& /*cache*/, std::vector<TokenPiece>& pieces) const {
    if (const auto id = m_vocabulary->find(word))
        pieces.push_back({*id, static_cast<std::uint32_t>(word.size())});
    else
        emitUnknown(word, m_unknown, *m_vocabulary, pieces);
}

} // namespace secateur
