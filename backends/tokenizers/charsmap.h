#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// SentencePiece's precompiled character map: a double-array trie of texts, and what each becomes.
class Charsmap {
public:
    /// @param blob as it lies in the file. @throws Error when it contradicts itself
    Charsmap(std::string_view blob, const std::string& subject);

    struct Match {
        std::size_t bytes = 0; ///< that are replaced
        std::string_view replacement;
    };
    /// The longest text of the map that begins at `at`; nothing when none does.
    std::optional<Match> longest(std::string_view text, std::size_t at) const;
    /// The shortest one; nothing when none does.
    std::optional<Match> shortest(std::string_view text, std::size_t at) const;

private:
    template <typename Found>
    void walk(std::string_view text, std::size_t at, Found found) const;

    std::vector<std::uint32_t> m_units;
    std::string m_replacements; ///< each ends with a zero byte
};

/// The bytes that base64 text stands for; nothing when it is none.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace secateur
