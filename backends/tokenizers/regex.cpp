#include "backends/tokenizers/regex.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace secateur {

namespace {

constexpr std::size_t longestPattern = 65'536;
constexpr std::uint32_t mostSteps = 20'000'000;
constexpr std::uint32_t mostKibibytes = 65'536;
constexpr std::size_t stackStart = 32 * 1024;
constexpr std::size_t stackLimit = 4 * 1024 * 1024;

/// The characters of White_Space, which \s stands for. PCRE2's own \s contains one more character.
constexpr std::string_view spaces =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

constexpr std::string_view wordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view hexadecimalDigits = "0-9a-fA-F";

/// The major version of Unicode that PCRE2 supports.
int unicodeVersion() {
    std::array<char, 64> text{};
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, text.data());
    return std::atoi(text.data());
}

/// Characters of a general category that are newer than the Unicode version of PCRE2, as members of a character class.
std::string newerMembers(std::string_view category) {
    std::string members;
    for (const auto& [first, last] : unicode::addedAfter(unicodeVersion(), category))
        members += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<unsigned>(first), static_cast<unsigned>(last));
    return members;
}

/// Translates an expression from the syntax of Oniguruma, which the original library uses, to that of PCRE2. Most of
/// the syntax is the same.
class Speller {
public:
    Speller(std::string_view pattern, const std::string& subject)
        : m_pattern(pattern)
        , m_subject(subject) {}

    std::string spelled() {
        while (m_at < m_pattern.size()) {
            if (m_pattern[m_at] == '\\' && m_at + 1 < m_pattern.size())
                escape();
            else if (m_depth > 0)
                member();
            else
                outside();
        }
        return std::move(m_spelled);
    }

private:
    [[noreturn]] void refuse(std::string_view what) const {
        throw Error(fmt::format("is a regular expression with {}, which is not supported", what), m_subject);
    }
    bool follows(std::string_view text) const { return m_pattern.substr(m_at).starts_with(text); }
    void copy(std::size_t bytes) {
        m_spelled += m_pattern.substr(m_at, bytes);
        m_at += bytes;
    }

    void escape() {
        const char letter = m_pattern[m_at + 1];
        if (letter == 's' || letter == 'S')
            shorthand(letter == 'S', spaces);
        else if (letter == 'w' || letter == 'W')
            shorthand(letter == 'W', wordMembers);
        else if (letter == 'h' || letter == 'H')
            shorthand(letter == 'H', hexadecimalDigits);
        else if (follows("\\p{"))
            category();
        else
            copy(2);
    }

    void shorthand(bool negated, std::string_view members) {
        if (m_depth > 0 && negated) {
            if (members != spaces)
                refuse(fmt::format("{} inside a class", m_pattern.substr(m_at, 2)));
            return copy(2); // the same in PCRE2
        }
        m_spelled += m_depth > 0 ? std::string(members) : fmt::format("[{}{}]", negated ? "^" : "", members);
        m_at += 2;
    }

    void category() {
        const std::size_t end = m_pattern.find('}', m_at);
        if (end == std::string_view::npos)
            return copy(2);
        const std::string more = newerMembers(m_pattern.substr(m_at + 3, end - m_at - 3));
        const bool apart = m_depth == 0 && !more.empty();
        m_spelled += apart ? "[" : "";
        copy(end + 1 - m_at);
        m_spelled += more + (apart ? "]" : "");
    }

    void outside() {
        if (m_pattern[m_at] == '[')
            return openClass();
        const std::size_t flags = m_pattern.find_first_not_of("imx-", m_at + 2);
        if (!follows("(?") || flags == std::string_view::npos || (m_pattern[flags] != ':' && m_pattern[flags] != ')'))
            return copy(1);
        for (; m_at < flags; ++m_at) // the flag m of Oniguruma is s in PCRE2
            m_spelled += m_pattern[m_at] == 'm' ? 's' : m_pattern[m_at];
    }

    void openClass() {
        copy(follows("[^") ? 2 : 1);
        if (follows("]"))
            copy(1);
        m_depth = 1;
    }

    void member() {
        if (follows("&&"))
            refuse("&& inside a class");
        if (const std::size_t end = m_pattern.find(":]", m_at); follows("[:") && end != std::string_view::npos)
            return copy(end + 2 - m_at);
        if (follows("[^"))
            refuse("a negated class inside a class");
        if (m_pattern[m_at] == '[') {
            ++m_depth; // the members of a nested class are added to the outer class
            ++m_at;
        } else if (m_pattern[m_at] == ']' && --m_depth > 0) {
            ++m_at;
        } else {
            copy(1);
        }
    }

    std::string_view m_pattern;
    const std::string& m_subject;
    std::string m_spelled;
    std::size_t m_at = 0;
    int m_depth = 0; ///< number of classes that are open
};

std::string messageOf(int code) {
    std::array<unsigned char, 256> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

/// Whether an error is an exceeded limit. Which limit is exceeded first depends on whether the expression was compiled
/// by JIT.
bool isLimit(int code) {
    return code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT || code == PCRE2_ERROR_HEAPLIMIT ||
           code == PCRE2_ERROR_JIT_STACKLIMIT || code == PCRE2_ERROR_RECURSELOOP;
}

} // namespace

struct Regex::Compiled {
    pcre2_code* code = nullptr;
    ~Compiled() { pcre2_code_free(code); }
};

struct Regex::Search::State {
    pcre2_match_data* data = nullptr;
    pcre2_match_context* context = nullptr;
    pcre2_jit_stack* stack = nullptr;
    ~State() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
        pcre2_jit_stack_free(stack);
    }
};

Regex::Regex(const std::string& pattern, std::string subject)
    : m_subject(std::move(subject))
    , m_compiled(std::make_unique<Compiled>()) {
    if (pattern.size() > longestPattern)
        throw Error(fmt::format("is a regular expression of {} bytes; the limit is {}", pattern.size(), longestPattern),
                    m_subject);
    if (!unicode::isValid(pattern))
        throw Error("is a regular expression that is not UTF-8", m_subject);
    const std::string spelled = "(*LF)" + Speller(pattern, m_subject).spelled();
    int failure = 0;
    PCRE2_SIZE place = 0;
    m_compiled->code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &failure, &place, nullptr);
    if (!m_compiled->code)
        throw Error(fmt::format("is not a valid regular expression: {}", messageOf(failure)), m_subject);
    // Fails if there is no JIT compiler. Matching is then slower, with the same results.
    pcre2_jit_compile(m_compiled->code, PCRE2_JIT_COMPLETE);
}

Regex::~Regex() = default;

std::optional<std::string_view> Regex::last(std::string_view text) const {
    Search search(*this, text);
    std::optional<std::string_view> found;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (search.next(begin, end))
        found = search.group();
    return found;
}

Regex::Search::Search(const Regex& regex, std::string_view text)
    : m_regex(regex)
    , m_text(text)
    , m_state(std::make_unique<State>()) {
    m_state->data = pcre2_match_data_create_from_pattern(regex.m_compiled->code, nullptr);
    m_state->context = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(m_state->context, mostSteps);
    pcre2_set_heap_limit(m_state->context, mostKibibytes);
}

Regex::Search::~Search() = default;

std::string_view Regex::Search::group() const {
    const PCRE2_SIZE* places = pcre2_get_ovector_pointer(m_state->data);
    const std::uint32_t groups = pcre2_get_ovector_count(m_state->data);
    std::uint32_t chosen = groups > 1 ? 1 : 0;
    while (chosen + 1 < groups && places[2 * std::size_t{chosen}] == PCRE2_UNSET)
        ++chosen;
    const PCRE2_SIZE begin = places[2 * std::size_t{chosen}];
    return begin == PCRE2_UNSET ? std::string_view()
                                : m_text.substr(begin, places[2 * std::size_t{chosen} + 1] - begin);
}

bool Regex::Search::next(std::size_t& begin, std::size_t& end) {
    while (m_at <= m_text.size()) {
        const int found = pcre2_match(m_regex.m_compiled->code, reinterpret_cast<PCRE2_SPTR>(m_text.data()),
                                      m_text.size(), m_at, PCRE2_NO_UTF_CHECK, m_state->data, m_state->context);
        if (found == PCRE2_ERROR_NOMATCH)
            return false;
        if (found == PCRE2_ERROR_JIT_STACKLIMIT && !m_state->stack) {
            // Created only when it is needed: the default stack suffices for nearly all matches, and creating a stack
            // takes time.
            m_state->stack = pcre2_jit_stack_create(stackStart, stackLimit, nullptr);
            pcre2_jit_stack_assign(m_state->context, nullptr, m_state->stack);
            continue;
        }
        if (found < 0)
            throw Error(fmt::format("is a regular expression that {}", isLimit(found)
                                                                           ? "takes too many steps on the text"
                                                                           : "fails on the text: " + messageOf(found)),
                        m_regex.m_subject);
        const PCRE2_SIZE* places = pcre2_get_ovector_pointer(m_state->data);
        begin = places[0];
        end = places[1];
        if (end > begin) {
            m_at = end;
            return true;
        }
        // An empty match continues at the next character. With look-behind, the end of a match may precede its
        // beginning.
        m_at = std::max(m_at, begin);
        m_at += m_at < m_text.size() ? unicode::characterAt(m_text, m_at).bytes : 1;
    }
    return false;
}

} // namespace secateur
