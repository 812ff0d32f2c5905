#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// A regular expression out of a file, as tokenizers spell them: ^ and $ are the ends of lines. Compiled once;
/// searching may be done from any thread.
class Regex {
public:
    /// @param subject for messages. @throws Error when it cannot be compiled, or is too large
    Regex(const std::string& pattern, std::string subject);
    ~Regex();
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;

    /// Calls match(begin, end) for every match, from left to right; empty ones only move the search on.
    /// @param text valid UTF-8. @throws Error when the expression takes too many steps
    template <typename Match>
    void forEach(std::string_view text, Match match) const {
        Search search(*this, text);
        std::size_t begin = 0;
        std::size_t end = 0;
        while (search.next(begin, end))
            match(begin, end);
    }

    /// Of the last match the first group that took part in it, the whole of it where there are no groups; nothing
    /// without a match. @throws Error as above
    std::optional<std::string_view> last(std::string_view text) const;

private:
    struct Compiled;
    class Search {
    public:
        Search(const Regex& regex, std::string_view text);
        ~Search();
        Search(const Search&) = delete;
        Search& operator=(const Search&) = delete;
        bool next(std::size_t& begin, std::size_t& end);
        std::string_view group() const; ///< of the match that next() found last

    private:
        struct State;
        const Regex& m_regex;
        std::string_view m_text;
        std::size_t m_at = 0;
        std::unique_ptr<State> m_state;
    };

    std::string m_subject;
    std::unique_ptr<Compiled> m_compiled;
};

} // namespace secateur
