#include "backends/tokenizers/added_tokens.h"

#include "backends/tokenizers/unicode.h"

#include <algorithm>

namespace secateur {

namespace {

/// Where the character before `at` begins.
std::size_t characterBefore(std::string_view text, std::size_t at) {
    --at;
    while (unicode::isContinuation(text[at]))
        --at;
    return at;
}

bool touchesWord(std::string_view text, std::size_t begin, std::size_t end) {
    const auto isWord = [&](std::size_t at) { return unicode::isWordCharacter(unicode::characterAt(text, at).code); };
    return (begin > 0 && isWord(characterBefore(text, begin))) || (end < text.size() && isWord(end));
}

bool isBlank(std::string_view text, std::size_t at) {
    return unicode::isSpace(unicode::characterAt(text, at).code);
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::span<const NormalizerPtr> normalizers) {
    for (AddedToken& token : tokens)
        m_tokens.insert_or_assign(token.id, std::move(token));
    for (const auto& [id, token] : m_tokens) {
        if (!token.normalized) {
            m_plain.add(token.text, id);
            continue;
        }
        AlignedText text(token.text, false);
        for (const auto& step : normalizers)
            step->apply(text);
        m_normalized.add(text.text(), id);
    }
}

const AddedToken* AddedTokens::find(int id) const {
    const auto found = m_tokens.find(id);
    return found == m_tokens.end() ? nullptr : &found->second;
}

std::vector<AddedToken> AddedTokens::all() const {
    std::vector<AddedToken> tokens;
    for (const auto& [id, token] : m_tokens)
        tokens.push_back(token);
    return tokens;
}

std::optional<int> AddedTokens::id(std::string_view text) const {
    const auto found = std::ranges::find_if(m_tokens, [&](const auto& item) { return item.second.text == text; });
    return found == m_tokens.end() ? std::nullopt : std::optional(found->first);
}

std::vector<AddedTokens::Found> AddedTokens::cut(std::string_view text, bool normalized, SpecialText special) const {
    std::vector<Found> found;
    const ByteTrie& trie = normalized ? m_normalized : m_plain;
    std::size_t done = 0; // text up to here is in `found`
    for (std::size_t at = 0; at < text.size() && !trie.empty();) {
        int id = ByteTrie::none;
        std::size_t length = 0; // of the longest token here
        if (trie.mayBegin(text[at])) {
            trie.match(text, at, [&](std::size_t bytes, int value) {
                length = bytes;
                id = value;
            });
        }
        if (length == 0) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + length;
        at = end;
        const AddedToken& token = m_tokens.at(id);
        if ((token.special && special == SpecialText::plain) || (token.singleWord && touchesWord(text, begin, end)))
            continue;
        while (token.stripsLeft && begin > done && isBlank(text, characterBefore(text, begin)))
            begin = characterBefore(text, begin);
        begin = std::max(begin, done);
        while (token.stripsRight && end < text.size() && isBlank(text, end))
            end += unicode::characterAt(text, end).bytes;
        end = std::max(end, begin);
        if (done < begin)
            found.push_back({done, begin, std::nullopt});
        found.push_back({begin, end, id});
        done = end;
    }
    if (done < text.size())
        found.push_back({done, text.size(), std::nullopt});
    return found;
}

} // namespace secateur
