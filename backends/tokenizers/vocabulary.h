#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Bytes of a token at most: what looks for tokens in a text takes time by their length. Real ones have a few hundred.
inline constexpr std::size_t longestToken = 4096;

/// Tokens and their ids, both ways. Ids may have gaps.
class Vocabulary {
public:
    /// @param tokens how many will be added, at most
    Vocabulary(std::size_t tokens, std::string subject);

    /// @throws Error when the token or the id is there already, or the id lies far beyond the number of tokens
    void add(std::string_view token, std::int64_t id);
    std::optional<int> find(std::string_view token) const;
    bool holds(int id) const { return id >= 0 && id < size() && m_tokens[static_cast<std::size_t>(id)].there; }
    /// Empty for an id that is not held.
    std::string_view text(int id) const;
    /// One more than the largest id.
    int size() const { return static_cast<int>(m_tokens.size()); }
    std::size_t tokens() const { return m_count; }
    const std::string& subject() const { return m_subject; }

private:
    struct Token {
        std::uint32_t begin = 0;
        std::uint32_t length = 0;
        bool there = false;
    };
    std::string_view viewOf(const Token& token) const { return {m_texts.data() + token.begin, token.length}; }
    std::size_t slotOf(std::string_view token) const;

    std::string m_subject;
    std::size_t m_announced;
    std::size_t m_count = 0;
    std::string m_texts;
    std::vector<Token> m_tokens;        ///< by id
    std::vector<std::uint32_t> m_slots; ///< hash table of ids + 1; 0 is free
};

/// "tok...", quoted and short enough for a message.
std::string inQuotes(std::string_view token);

/// The printable character by which byte-level vocabularies spell each byte (GPT-2's alphabet), as UTF-8.
const std::array<std::string, 256>& byteLetters();

/// The bytes that a token spells in that alphabet; nothing when it has other characters.
std::optional<std::string> spelledBytes(std::string_view token);

/// "<0x0A>"
std::string byteTokenName(unsigned char byte);
/// The byte that such a name tells.
std::optional<unsigned char> namedByte(std::string_view token);

} // namespace secateur
