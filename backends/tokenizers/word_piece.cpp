#include "backends/tokenizers/word_piece.h"

#include "backends/tokenizers/unicode.h"

#include <algorithm>

namespace secateur {

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
