#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// A regular expression from a tokenizer file, in Oniguruma's syntax: ^ and $ match at the ends of lines. Thread-safe.
class Regex {
public:
    /// @param subject name of the file, for error messages @throws Error if it cannot be compiled or is too large
    Regex(const std::string& pattern, std::string subject);
    ~Regex();
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;

    /// Calls match(begin, end) for every match that is not empty, from left to right.
    /// @param text valid UTF-8. @throws Error if the expression takes too many steps
    template <typename Match>
    void forEach(std::string_view text, Match match) const {
        Search search(*this, text);
        std::size_t begin = 0;
        std::size_t end = 0;
        while (search.next(begin, end))
            match(begin, end);
    }

    /// The first group that took part in the last match. If the expression has no groups, the whole match. Empty if
    /// there is no match. @throws Error as forEach()
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
        std::string_view group() const; ///< the group of the match that next() found last

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
