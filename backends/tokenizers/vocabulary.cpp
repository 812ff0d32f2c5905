#include "backends/tokenizers/vocabulary.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>

namespace secateur {

namespace {

constexpr std::size_t spareIds = 100'000; // maximum number of unused ids in a vocabulary
constexpr std::size_t longestTexts = std::numeric_limits<std::uint32_t>::max();

constexpr char32_t firstStandIn = 0x100; // the first character that stands for a byte that is not printable
constexpr std::size_t letterCodes = 0x180;

bool printsAsItself(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<std::string, 256> makeLetters() {
    std::array<std::string, 256> letters;
    char32_t next = firstStandIn;
    for (unsigned byte = 0; byte < letters.size(); ++byte)
        letters[byte] = unicode::utf8(printsAsItself(byte) ? byte : next++);
    return letters;
}

/// For each character, the byte that it stands for; -1 = none.
std::array<int, letterCodes> makeBytes() {
    std::array<int, letterCodes> bytes{};
    bytes.fill(-1);
    for (std::size_t byte = 0; byte < byteLetters().size(); ++byte)
        bytes[unicode::characterAt(byteLetters()[byte], 0).code] = static_cast<int>(byte);
    return bytes;
}

int digitOf(char letter) {
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

} // namespace

std::string inQuotes(std::string_view token) {
    constexpr std::size_t longest = 40;
    std::string shown;
    for (const char byte : unicode::repaired(token.substr(0, longest)))
        shown += static_cast<unsigned char>(byte) < 0x20 ? fmt::format("\\x{:02x}", byte) : std::string(1, byte);
    return fmt::format("\"{}{}\"", shown, token.size() > longest ? "..." : "");
}

Vocabulary::Vocabulary(std::size_t tokens, std::string subject)
    : m_subject(std::move(subject))
    , m_announced(tokens)
    , m_slots(std::bit_ceil(2 * tokens + 2)) {
    m_tokens.reserve(tokens);
}

std::size_t Vocabulary::slotOf(std::string_view token) const {
    const std::size_t mask = m_slots.size() - 1;
    std::size_t slot = std::hash<std::string_view>()(token) & mask;
    while (m_slots[slot] != 0 && viewOf(m_tokens[m_slots[slot] - 1]) != token)
        slot = (slot + 1) & mask;
    return slot;
}

void Vocabulary::add(std::string_view token, std::int64_t id) {
    if (id < 0 || static_cast<std::uint64_t>(id) > 2 * m_announced + spareIds)
        throw Error(fmt::format("gives the token {} the id {}, beyond its {} tokens", inQuotes(token), id, m_announced),
                    m_subject);
    const std::size_t slot = slotOf(token);
    if (m_slots[slot] != 0)
        throw Error(fmt::format("has the token {} twice", inQuotes(token)), m_subject);
    const auto index = static_cast<std::size_t>(id);
    if (index >= m_tokens.size())
        m_tokens.resize(index + 1);
    if (m_tokens[index].used)
        throw Error(
            fmt::format("gives the id {} to both {} and {}", id, inQuotes(viewOf(m_tokens[index])), inQuotes(token)),
            m_subject);
    if (token.size() > longestTexts - m_texts.size() || m_count == m_announced)
        throw Error("has more tokens than it states", m_subject);
    m_tokens[index] = {static_cast<std::uint32_t>(m_texts.size()), static_cast<std::uint32_t>(token.size()), true};
    m_texts += token;
    m_slots[slot] = static_cast<std::uint32_t>(index + 1);
    ++m_count;
}

std::optional<int> Vocabulary::find(std::string_view token) const {
    const std::uint32_t found = m_slots[slotOf(token)];
    return found == 0 ? std::nullopt : std::optional(static_cast<int>(found - 1));
}

std::string_view Vocabulary::text(int id) const {
    return holds(id) ? viewOf(m_tokens[static_cast<std::size_t>(id)]) : std::string_view();
}

void Vocabulary::refuseText(std::string_view text) const {
    throw Error(fmt::format("has no token for {}, and no unknown token", inQuotes(text)), m_subject);
}

const std::array<std::string, 256>& byteLetters() {
    static const std::array<std::string, 256> letters = makeLetters();
    return letters;
}

std::optional<std::string> spelledBytes(std::string_view token) {
    static const std::array<int, letterCodes> bytes = makeBytes();
    std::string spelled;
    for (std::size_t at = 0; at < token.size();) {
        const unicode::Character character = unicode::characterAt(token, at);
        if (character.code >= letterCodes || bytes[character.code] < 0)
            return std::nullopt;
        spelled.push_back(static_cast<char>(bytes[character.code]));
        at += character.bytes;
    }
    return spelled;
}

std::string byteTokenName(unsigned char byte) {
    return fmt::format("<0x{:02X}>", byte);
}

std::optional<unsigned char> namedByte(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>') || digitOf(token[3]) < 0 ||
        digitOf(token[4]) < 0)
        return std::nullopt;
    return static_cast<unsigned char>(16 * digitOf(token[3]) + digitOf(token[4]));
}

namespace {

constexpr std::size_t entries = 1U << 14U; // number of entries; the hash of a word determines its entry
constexpr std::size_t mostPieces = 1U << 19U;

} // namespace

WordCache::WordCache()
    : m_entries(entries) {}

const TokenPiece* WordCache::find(std::string_view word, std::size_t& count) const {
    const std::uint64_t hash = std::hash<std::string_view>()(word);
    const Entry& entry = m_entries[hash % entries];
    if (entry.hash != hash || entry.count == 0 || std::string_view(m_texts).substr(entry.text, entry.bytes) != word)
        return nullptr;
    count = entry.count;
    return m_pieces.data() + entry.pieces;
}

void WordCache::remember(std::string_view word, std::span<const TokenPiece> pieces) {
    // A word without tokens is not cached, because the number of pieces limits the size of the cache.
    if (pieces.empty())
        return;
    if (m_pieces.size() + pieces.size() > mostPieces) {
        std::ranges::fill(m_entries, Entry());
        m_texts.clear();
        m_pieces.clear();
    }
    const std::uint64_t hash = std::hash<std::string_view>()(word);
    m_entries[hash % entries] = {hash, static_cast<std::uint32_t>(m_texts.size()),
                                 static_cast<std::uint32_t>(m_pieces.size()), static_cast<std::uint32_t>(word.size()),
                                 static_cast<std::uint32_t>(pieces.size())};
    m_texts += word;
    m_pieces.insert(m_pieces.end(), pieces.begin(), pieces.end());
}

} // namespace secateur
