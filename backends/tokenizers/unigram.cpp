#include "backends/tokenizers/unigram.h"

#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

constexpr double unknownPenalty = 10; // score of the least likely token minus that of an unknown character

bool bitAt(const std::vector<bool>& bits, int id) {
    return static_cast<std::size_t>(id) < bits.size() && bits[static_cast<std::size_t>(id)];
}

std::size_t textBytes(const Vocabulary& vocabulary) {
    std::size_t bytes = 0;
    for (int id = 0; id < vocabulary.size(); ++id)
        bytes += vocabulary.text(id).size();
    return bytes;
}

} // namespace

Unigram::Unigram(std::shared_ptr<const Vocabulary> vocabulary, std::vector<double> scores, UnigramOptions options)
    : m_vocabulary(std::move(vocabulary))
    , m_scores(std::move(scores))
    , m_options(std::move(options))
    , m_trie(textBytes(*m_vocabulary)) {
    m_least = std::numeric_limits<double>::infinity();
    m_most = -m_least;
    for (int id = 0; id < m_vocabulary->size(); ++id) {
        if (!m_vocabulary->holds(id))
            continue;
        const double score = m_scores[static_cast<std::size_t>(id)];
        if (!m_options.usable.empty() && !bitAt(m_options.usable, id))
            continue;
        if (!bitAt(m_options.userDefined, id)) {
            m_least = std::min(m_least, score);
            m_most = std::max(m_most, score);
        }
        m_trie.add(m_vocabulary->text(id), id);
    }
    for (std::size_t byte = 0; byte < m_byteIds.size(); ++byte)
        m_byteIds[byte] = m_vocabulary->find(byteTokenName(static_cast<unsigned char>(byte))).value_or(-1);
}

double Unigram::scoreOf(int id, std::size_t bytes) const {
    if (bitAt(m_options.userDefined, id))
        return static_cast<double>(static_cast<float>(bytes) * static_cast<float>(m_most)) - 0.1;
    return m_scores[static_cast<std::size_t>(id)];
}

template <typename Score>
void Unigram::fill(std::string_view word, std::vector<Node>& ends) const {
    const auto unknownScore = static_cast<Score>(static_cast<Score>(m_least) - static_cast<Score>(unknownPenalty));
    const auto offer = [](Node& node, double score, std::size_t start, int id) {
        if (node.id < 0 || score > node.score)
            node = {score, static_cast<std::uint32_t>(start), id};
    };
    // While paths are compared, an unknown character needs an id, even if the vocabulary has no unknown token.
    const int unknown = m_options.unknown >= 0 ? m_options.unknown : std::numeric_limits<int>::max();
    for (std::size_t at = 0; at < word.size();) {
        const double here = ends[at].score;
        const std::size_t bytes = unicode::characterAt(word, at).bytes;
        bool single = false;
        m_trie.match(word, at, [&](std::size_t length, int id) {
            const auto score = static_cast<Score>(scoreOf(id, length));
            offer(ends[at + length], static_cast<Score>(score + static_cast<Score>(here)), at, id);
            single = single || length == bytes;
        });
        if (!single)
            offer(ends[at + bytes], static_cast<Score>(unknownScore + static_cast<Score>(here)), at, unknown);
        at += bytes;
    }
}

void Unigram::emitUnknown(std::string_view text, std::vector<TokenPiece>& pieces) const {
    const bool allNamed = m_options.byteFallback && std::ranges::all_of(text, [&](char byte) {
                              return m_byteIds[static_cast<unsigned char>(byte)] >= 0;
                          });
    if (allNamed) {
        for (const char byte : text)
            pieces.push_back({m_byteIds[static_cast<unsigned char>(byte)], 1});
    } else if (m_options.unknown >= 0) {
        pieces.push_back({m_options.unknown, static_cast<std::uint32_t>(text.size())});
    } else {
        m_vocabulary->refuseText(text);
    }
}

void Unigram::encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const {
    std::size_t count = 0;
    const bool cacheable = word.size() <= WordCache::longestWord;
    if (const TokenPiece* known = cacheable ? cache.find(word, count) : nullptr) {
        pieces.insert(pieces.end(), known, known + count);
        return;
    }
    std::vector<Node> ends(word.size() + 1);
    if (m_options.singlePrecision)
        fill<float>(word, ends);
    else
        fill<double>(word, ends);
    std::vector<TokenPiece> backwards;
    for (std::size_t end = word.size(); end > 0; end = ends[end].start)
        backwards.push_back({ends[end].id, static_cast<std::uint32_t>(end - ends[end].start)});
    const std::size_t before = pieces.size();
    const auto isUnknown = [&](const TokenPiece& piece) {
        return piece.id == m_options.unknown || !m_vocabulary->holds(piece.id);
    };
    std::size_t at = 0;
    for (auto piece = backwards.rbegin(); piece != backwards.rend();) {
        std::size_t bytes = piece->bytes;
        if (!isUnknown(*piece)) {
            pieces.push_back(*piece++);
        } else { // neighbouring unknown characters become one token
            for (++piece; piece != backwards.rend() && isUnknown(*piece); ++piece)
                bytes += piece->bytes;
            emitUnknown(word.substr(at, bytes), pieces);
        }
        at += bytes;
    }
    if (cacheable)
        cache.remember(word, std::span(pieces).subspan(before));
}

} // namespace secateur
