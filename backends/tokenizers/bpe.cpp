#include "backends/tokenizers/bpe.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace secateur {

namespace {

constexpr std::size_t tabledCharacters = 0x10000;
constexpr int noToken = -1;
constexpr std::size_t shortWord = 48; // up to this number of symbols, searching all pairs is faster than a heap

} // namespace

Bpe::Bpe(std::shared_ptr<const Vocabulary> vocabulary, const std::vector<BpeMerge>& merges, BpeOptions options)
    : m_vocabulary(std::move(vocabulary))
    , m_options(std::move(options))
    , m_merges(merges.size()) {
    for (const BpeMerge& merge : merges) {
        if (!m_vocabulary->holds(merge.left) || !m_vocabulary->holds(merge.right) || !m_vocabulary->holds(merge.result))
            throw Error("names a token that is not in the vocabulary", m_vocabulary->subject() + ": merges");
        m_merges.set(merge.left, merge.right, {merge.rank, merge.result});
    }
    readBytes();
    if (!m_options.byteLevel) {
        readCharacters();
        findWordStarts(merges);
    }
}

void Bpe::readBytes() {
    for (std::size_t byte = 0; byte < m_byteIds.size(); ++byte) {
        const std::string name =
            m_options.byteLevel ? byteLetters()[byte] : byteTokenName(static_cast<unsigned char>(byte));
        m_byteIds[byte] = m_vocabulary->find(name).value_or(noToken);
    }
    if (!m_options.byteLevel || !m_options.wholeWords)
        return;
    m_words = std::make_unique<Vocabulary>(m_vocabulary->tokens(), m_vocabulary->subject());
    for (int id = 0; id < m_vocabulary->size(); ++id) {
        if (!m_vocabulary->holds(id))
            continue;
        if (const auto bytes = spelledBytes(m_vocabulary->text(id)))
            m_words->add(*bytes, id);
    }
}

void Bpe::readCharacters() {
    if (!m_options.continuationPrefix.empty() || !m_options.wordEnd.empty())
        return;
    m_characterIds.assign(tabledCharacters, noToken);
    for (int id = 0; id < m_vocabulary->size(); ++id) {
        const std::string_view text = m_vocabulary->text(id);
        if (text.empty() || text.size() > 3)
            continue;
        const unicode::Character character = unicode::characterAt(text, 0);
        if (character.bytes == text.size())
            m_characterIds[character.code] = id;
    }
}

void Bpe::findWordStarts(const std::vector<BpeMerge>& merges) {
    const auto mark = m_vocabulary->find(spaceMark);
    const auto joinsBefore = [&](const BpeMerge& merge) {
        const std::string_view left = m_vocabulary->text(merge.left);
        return m_vocabulary->text(merge.right).starts_with(spaceMark) && !left.ends_with(spaceMark);
    };
    m_wordsStart = mark && m_options.continuationPrefix.empty() && m_options.wordEnd.empty() && !m_options.wholeWords &&
                   std::ranges::none_of(merges, joinsBefore);
}

bool Bpe::beginsWord(std::string_view text, std::size_t at) const {
    return text.substr(at).starts_with(spaceMark) && !text.substr(0, at).ends_with(spaceMark);
}

void Bpe::encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const {
    if (!m_wordsStart)
        return encodeWord(word, cache, pieces);
    std::size_t begin = 0;
    for (std::size_t at = word.find(spaceMark, 1); at != std::string_view::npos; at = word.find(spaceMark, at + 1)) {
        if (!beginsWord(word, at))
            continue;
        encodeWord(word.substr(begin, at - begin), cache, pieces);
        begin = at;
    }
    encodeWord(word.substr(begin), cache, pieces);
}

void Bpe::encodeWord(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const {
    if (m_options.wholeWords) {
        if (const auto whole = (m_words ? *m_words : *m_vocabulary).find(word)) {
            pieces.push_back({*whole, static_cast<std::uint32_t>(word.size())});
            return;
        }
    }
    std::size_t count = 0;
    if (word.size() <= WordCache::longestWord) {
        if (const TokenPiece* known = cache.find(word, count)) {
            pieces.insert(pieces.end(), known, known + count);
            return;
        }
    }
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    split(word, symbols);
    if (symbols.size() <= shortWord)
        mergeShort(symbols);
    else
        mergeLong(symbols);
    const std::size_t before = pieces.size();
    emit(word, symbols, pieces);
    if (word.size() <= WordCache::longestWord)
        cache.remember(word, std::span(pieces).subspan(before));
}

void Bpe::splitBytes(std::string_view word, std::vector<Symbol>& symbols) const {
    // If there is no unknown token, bytes without a token are left out, so that their neighbours may merge. Their
    // length is added to the length of a neighbour.
    std::uint32_t lost = 0;
    for (const char letter : word) {
        const int id = m_byteIds[static_cast<unsigned char>(letter)];
        if (id != noToken) {
            symbols.push_back({id, 1 + lost});
            lost = 0;
        } else if (m_options.unknown >= 0) {
            if (m_options.fuseUnknown && !symbols.empty() && symbols.back().id == m_options.unknown)
                ++symbols.back().bytes;
            else
                symbols.push_back({m_options.unknown, 1});
        } else if (!symbols.empty()) {
            ++symbols.back().bytes;
        } else {
            ++lost;
        }
    }
}

int Bpe::characterId(std::string_view word, std::size_t at, std::size_t bytes) const {
    const std::string_view character = word.substr(at, bytes);
    if (m_characterIds.empty()) {
        std::string spelled = at > 0 ? m_options.continuationPrefix : std::string();
        spelled += character;
        if (at + bytes == word.size())
            spelled += m_options.wordEnd;
        return m_vocabulary->find(spelled).value_or(noToken);
    }
    if (bytes < 4)
        return m_characterIds[unicode::characterAt(word, at).code];
    return m_vocabulary->find(character).value_or(noToken);
}

bool Bpe::addBytes(std::string_view character, std::vector<Symbol>& symbols) const {
    const auto isMissing = [&](char byte) { return m_byteIds[static_cast<unsigned char>(byte)] == noToken; };
    if (std::ranges::any_of(character, isMissing))
        return false;
    for (const char byte : character)
        symbols.push_back({m_byteIds[static_cast<unsigned char>(byte)], 1});
    return true;
}

void Bpe::split(std::string_view word, std::vector<Symbol>& symbols) const {
    if (m_options.byteLevel)
        return splitBytes(word, symbols);
    // As in Hugging Face's library, an unknown token is emitted only before the next character that does not become
    // <0x..> tokens. <0x..> tokens of later characters may therefore precede it.
    std::uint32_t unknown = 0;
    const auto flush = [&] {
        if (unknown == 0 || m_options.unknown < 0)
            return;
        symbols.push_back({m_options.unknown, unknown});
        unknown = 0;
    };
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t bytes = unicode::characterAt(word, at).bytes;
        const int id = characterId(word, at, bytes);
        const auto length = static_cast<std::uint32_t>(bytes);
        if (id != noToken || m_options.lateUnknown) {
            flush();
            symbols.push_back({id, length + unknown}); // includes the length of characters that were left out
            unknown = 0;
        } else if (!m_options.byteFallback || !addBytes(word.substr(at, bytes), symbols)) {
            if (!m_options.fuseUnknown)
                flush();
            unknown += length;
        }
        at += bytes;
    }
    flush();
}

void Bpe::mergeShort(std::vector<Symbol>& symbols) const {
    std::array<PairTable::Merge, shortWord> merges;
    std::size_t count = symbols.size();
    for (std::size_t i = 0; i + 1 < count; ++i)
        merges[i] = m_merges.find(symbols[i].id, symbols[i + 1].id);
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i) {
            if (merges[i].rank < merges[best].rank)
                best = i;
        }
        if (merges[best].rank == PairTable::never)
            break;
        symbols[best] = {merges[best].result, symbols[best].bytes + symbols[best + 1].bytes};
        std::move(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
                  symbols.begin() + static_cast<std::ptrdiff_t>(count),
                  symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        if (best + 2 < count)
            std::move(merges.begin() + best + 2, merges.begin() + count, merges.begin() + best + 1);
        --count;
        if (best + 1 < count)
            merges[best] = m_merges.find(symbols[best].id, symbols[best + 1].id);
        if (best > 0)
            merges[best - 1] = m_merges.find(symbols[best - 1].id, symbols[best].id);
    }
    symbols.resize(count);
}

void Bpe::mergeLong(std::vector<Symbol>& symbols) const {
    struct Links {
        std::uint32_t previous, next;
        PairTable::Merge merge; ///< merge with the next symbol
    };
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<Links> links(count);
    std::vector<std::uint64_t> seeds; // rank and place; the lowest rank merges first, of equal ranks the leftmost
    const auto queued = [](std::uint32_t rank, std::uint32_t place) { return (std::uint64_t{rank} << 32U) | place; };
    for (std::uint32_t i = 0; i < count; ++i) {
        links[i] = {i - 1, i + 1, i + 1 < count ? m_merges.find(symbols[i].id, symbols[i + 1].id) : PairTable::Merge()};
        if (links[i].merge.rank != PairTable::never)
            seeds.push_back(queued(links[i].merge.rank, i));
    }
    std::priority_queue queue(std::greater<std::uint64_t>(), std::move(seeds));
    const auto renew = [&](std::uint32_t i) {
        const std::uint32_t next = links[i].next;
        links[i].merge = next < count ? m_merges.find(symbols[i].id, symbols[next].id) : PairTable::Merge();
        if (links[i].merge.rank != PairTable::never)
            queue.push(queued(links[i].merge.rank, i));
    };
    while (!queue.empty()) {
        const auto place = static_cast<std::uint32_t>(queue.top());
        const auto rank = static_cast<std::uint32_t>(queue.top() >> 32U);
        queue.pop();
        if (symbols[place].bytes == 0 || links[place].merge.rank != rank)
            continue;
        const std::uint32_t right = links[place].next;
        symbols[place] = {links[place].merge.result, symbols[place].bytes + symbols[right].bytes};
        symbols[right].bytes = 0;
        links[place].next = links[right].next;
        if (links[place].next < count)
            links[links[place].next].previous = place;
        renew(place);
        if (place > 0)
            renew(links[place].previous);
    }
    std::erase_if(symbols, [](const Symbol& symbol) { return symbol.bytes == 0; });
}

void Bpe::emitUnknown(std::string_view text, std::vector<TokenPiece>& pieces, bool& lastUnknown) const {
    std::vector<Symbol> bytes;
    if (m_options.byteFallback && addBytes(text, bytes)) {
        for (const Symbol& symbol : bytes)
            pieces.push_back({symbol.id, symbol.bytes});
        lastUnknown = false;
        return;
    }
    if (m_options.unknown < 0)
        m_vocabulary->refuseText(text);
    if (lastUnknown && m_options.fuseUnknown)
        pieces.back().bytes += static_cast<std::uint32_t>(text.size());
    else
        pieces.push_back({m_options.unknown, static_cast<std::uint32_t>(text.size())});
    lastUnknown = true;
}

void Bpe::emit(std::string_view word, const std::vector<Symbol>& symbols, std::vector<TokenPiece>& pieces) const {
    std::size_t at = 0;
    bool lastUnknown = false;
    for (const Symbol& symbol : symbols) {
        if (symbol.id == noToken) {
            emitUnknown(word.substr(at, symbol.bytes), pieces, lastUnknown);
        } else {
            pieces.push_back({symbol.id, symbol.bytes});
            lastUnknown = false;
        }
        at += symbol.bytes;
    }
}

std::vector<BpeMerge> mergesByScore(const Vocabulary& vocabulary, const std::vector<float>& scores,
                                    const std::vector<bool>& usable) {
    // Equal scores give equal ranks. Of pairs with equal ranks, the leftmost merges first.
    std::vector<int> order;
    for (int id = 0; id < vocabulary.size(); ++id) {
        if (usable[static_cast<std::size_t>(id)])
            order.push_back(id);
    }
    const auto scoreOf = [&](int id) { return scores[static_cast<std::size_t>(id)]; };
    std::ranges::stable_sort(order, [&](int a, int b) { return scoreOf(a) > scoreOf(b); });
    std::vector<BpeMerge> merges;
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && scoreOf(order[i]) != scoreOf(order[i - 1]))
            ++rank;
        const std::string_view text = vocabulary.text(order[i]);
        for (std::size_t cut = 1; cut < text.size(); ++cut) {
            if (unicode::isContinuation(text[cut]))
                continue;
            const auto left = vocabulary.find(text.substr(0, cut));
            const auto right = left ? vocabulary.find(text.substr(cut)) : std::nullopt;
            if (right && usable[static_cast<std::size_t>(*left)] && usable[static_cast<std::size_t>(*right)])
                merges.push_back({*left, *right, order[i], rank});
        }
    }
    return merges;
}

} // namespace secateur
