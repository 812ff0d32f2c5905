#include "backends/tokenizers/regex.h"

#include "analysis/error.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdlib>

namespace secateur {

namespace {

constexpr std::size_t longestPattern = 65'536;
constexpr std::uint32_t mostSteps = 20'000'000;
constexpr std::uint32_t mostKibibytes = 65'536;
constexpr std::size_t stackStart = 32 * 1024;
constexpr std::size_t stackLimit = 4 * 1024 * 1024;

/// The members of White_Space: PCRE2's own \s has one character more.
constexpr std::string_view spaces =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// The major version of Unicode that PCRE2 knows.
int unicodeVersion() {
    std::array<char, 64> text{};
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, text.data());
    return std::atoi(text.data());
}

/// The members of a general category that PCRE2 does not know yet, as members of a class.
std::string newerMembers(std::string_view category) {
    std::string members;
    for (const auto& [first, last] : unicode::addedAfter(unicodeVersion(), category))
        members += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<unsigned>(first), static_cast<unsigned>(last));
    return members;
}

/// The expression with \s and \S spelled out, and categories with what newer versions of Unicode added to them.
std::string spelledOut(std::string_view pattern) {
    std::string spelled;
    bool inClass = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char letter = pattern[i];
        if (letter == '\\' && i + 1 < pattern.size()) {
            const char escaped = pattern[++i];
            if (escaped == 's')
                spelled += inClass ? std::string(spaces) : fmt::format("[{}]", spaces);
            else if (escaped == 'S' && !inClass)
                spelled += fmt::format("[^{}]", spaces);
            else
                (spelled += letter) += escaped;
            if (const std::size_t end = pattern.find('}', i);
                escaped == 'p' && pattern.substr(i + 1).starts_with('{') && end != std::string_view::npos) {
                const std::string_view name = pattern.substr(i + 2, end - i - 2);
                const std::string more = newerMembers(name);
                spelled.resize(spelled.size() - 2);
                spelled += fmt::format("{}\\p{{{}}}{}{}", inClass || more.empty() ? "" : "[", name, more,
                                       inClass || more.empty() ? "" : "]");
                i = end;
            }
            continue;
        }
        if (letter == '[' && !inClass)
            inClass = true;
        else if (letter == ']' && inClass && !spelled.ends_with('[') && !spelled.ends_with("[^"))
            inClass = false;
        spelled += letter;
    }
    return spelled;
}

std::string messageOf(int code) {
    std::array<unsigned char, 256> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

/// Which of its limits an expression meets first depends on how it was compiled.
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
        throw Error(
            fmt::format("is a regular expression of {} bytes; at most {} are read", pattern.size(), longestPattern),
            m_subject);
    if (!unicode::isValid(pattern))
        throw Error("is a regular expression that is not UTF-8", m_subject);
    const std::string spelled = spelledOut(pattern);
    int failure = 0;
    PCRE2_SIZE place = 0;
    m_compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &failure, &place, nullptr);
    if (!m_compiled->code)
        throw Error(fmt::format("is not a regular expression that can be read: {}", messageOf(failure)), m_subject);
    // Where there is no compiler to machine code, matching is slower and equal.
    pcre2_jit_compile(m_compiled->code, PCRE2_JIT_COMPLETE);
}

Regex::~Regex() = default;

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

bool Regex::Search::next(std::size_t& begin, std::size_t& end) {
    while (m_at <= m_text.size()) {
        const int found = pcre2_match(m_regex.m_compiled->code, reinterpret_cast<PCRE2_SPTR>(m_text.data()),
                                      m_text.size(), m_at, PCRE2_NO_UTF_CHECK, m_state->data, m_state->context);
        if (found == PCRE2_ERROR_NOMATCH)
            return false;
        if (found == PCRE2_ERROR_JIT_STACKLIMIT && !m_state->stack) {
            // What is there by default is enough for nearly all, and a stack of its own takes time to make.
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
        // An empty match: on to the next character. Look-behind can even put the end before the beginning.
        m_at = std::max(m_at, begin);
        m_at += m_at < m_text.size() ? unicode::characterAt(m_text, m_at).bytes : 1;
    }
    return false;
}

} // namespace secateur
