#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Maximum number of bytes of a token, because long tokens make searches slow. Real tokens have at most a few hundred
/// bytes.
inline constexpr std::size_t longestToken = 4096;
inline constexpr std::int64_t mostIds = std::numeric_limits<int>::max();
/// SentencePiece's mark for a space.
inline constexpr std::string_view spaceMark = "\xE2\x96\x81"; // ▁

/// Finds tokens by id and ids by token. Ids may have gaps.
class Vocabulary {
public:
    /// @param tokens maximum number of tokens that will be added
    Vocabulary(std::size_t tokens, std::string subject);

    /// Adds a token. @throws Error if the token or the id exists already, or the id is far larger than the number of
    /// tokens
    void add(std::string_view token, std::int64_t id);
    std::optional<int> find(std::string_view token) const;
    bool holds(int id) const { return id >= 0 && id < size() && m_tokens[static_cast<std::size_t>(id)].used; }
    /// The token with an id; empty for an unused id.
    std::string_view text(int id) const;
    /// The largest id plus one.
    int size() const { return static_cast<int>(m_tokens.size()); }
    std::size_t tokens() const { return m_count; }
    const std::string& subject() const { return m_subject; }
    /// Reports a text that cannot be divided into tokens, when there is no unknown token. @throws Error always
    [[noreturn]] void refuseText(std::string_view text) const;

private:
    struct Token {
        std::uint32_t begin = 0;
        std::uint32_t length = 0;
        bool used = false;
    };
    std::string_view viewOf(const Token& token) const { return {m_texts.data() + token.begin, token.length}; }
    std::size_t slotOf(std::string_view token) const;

    std::string m_subject;
    std::size_t m_announced;
    std::size_t m_count = 0;
    std::string m_texts;
    std::vector<Token> m_tokens;        ///< tokens by id
    std::vector<std::uint32_t> m_slots; ///< hash table of id + 1; 0 = unused
};

/// A token in quotes for a message; long tokens are shortened.
std::string inQuotes(std::string_view token);

/// The printable characters that stand for bytes in byte-level vocabularies (GPT-2's alphabet), as UTF-8.
const std::array<std::string, 256>& byteLetters();

/// The bytes that a token spells in GPT-2's alphabet; empty if it contains other characters.
std::optional<std::string> spelledBytes(std::string_view token);

/// The name of the token for a byte: "<0x0A>".
std::string byteTokenName(unsigned char byte);
/// The byte of a token with a name such as "<0x0A>"; empty for other tokens.
std::optional<unsigned char> namedByte(std::string_view token);

/// A token in a word: its id and the number of bytes of the word that it covers.
struct TokenPiece {
    int id = 0;
    std::uint32_t bytes = 0;
};

/// Caches the tokens of words. Only one thread at a time may use it.
class WordCache {
public:
    WordCache();

    static constexpr std::size_t longestWord = 64; ///< in bytes; longer words are rare and not cached

    /// The tokens of a word; null if it is not cached. @param count set to the number of tokens
    const TokenPiece* find(std::string_view word, std::size_t& count) const;
    void remember(std::string_view word, std::span<const TokenPiece> pieces);

private:
    struct Entry {
        std::uint64_t hash = 0;
        std::uint32_t text = 0;
        std::uint32_t pieces = 0;
        std::uint32_t bytes = 0;
        std::uint32_t count = 0;
    };

    std::vector<Entry> m_entries;
    std::string m_texts;
    std::vector<TokenPiece> m_pieces;
};

/// Splits words into tokens. Pre-tokenizers make the words. Immutable.
class TokenModel {
public:
    virtual ~TokenModel() = default;

    /// Appends the tokens of a word. Their lengths add up to the length of the word.
    /// @param word valid UTF-8, not empty @throws Error if no token covers a part of it
    virtual void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const = 0;
    virtual const Vocabulary& vocabulary() const = 0;
    virtual std::string_view kind() const = 0;
};

} // namespace secateur
