#include "analysis/text/wikitext.h"

#include "analysis/base/text.h"

#include <array>
#include <utility>

namespace secateur {

namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

void replaceAll(std::string& text, std::string_view from, std::string_view to) {
    std::string replaced;
    std::size_t at = 0;
    for (std::size_t found; (found = text.find(from, at)) != std::string::npos; at = found + from.size()) {
        replaced.append(text, at, found - at);
        replaced += to;
    }
    if (at == 0)
        return;
    replaced.append(text, at);
    text = std::move(replaced);
}

template <std::size_t count>
void replaceEach(std::string& text, const std::array<Replacement, count>& replacements) {
    for (const auto& [from, to] : replacements)
        replaceAll(text, from, to);
}

/// The harness wrote the slashes of another language's regular expressions into this one: it hardly ever matches.
void replaceSlashedDigits(std::string& text) {
    constexpr std::string_view before = "/' ";
    constexpr std::size_t length = before.size() + 2;
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
        const std::string_view found = std::string_view(text).substr(at, length);
        if (found.size() == length && found[3] >= '0' && found[3] <= '9' && found[4] == '/') {
            constexpr std::string_view literal = "/'[0-9]/";
            text.replace(at, length, literal);
            at += literal.size();
        } else {
            ++at;
        }
    }
}

/// Takes out the white space inside pairs: from each `open` to the next `close`.
void tightenPairs(std::string& text, char open, char close) {
    std::string tight;
    std::size_t at = 0;
    while (true) {
        const std::size_t begin = text.find(open, at);
        const std::size_t end = begin == std::string::npos ? begin : text.find(close, begin + 1);
        if (end == std::string::npos)
            break;
        tight.append(text, at, begin + 1 - at);
        tight += trimmed(std::string_view(text).substr(begin + 1, end - begin - 1));
        tight += close;
        at = end + 1;
    }
    tight.append(text, at);
    text = std::move(tight);
}

constexpr std::array<Replacement, 9> punctuation{{{" @-@ ", "-"},
                                                  {" @,@ ", ","},
                                                  {" @.@ ", "."},
                                                  {" : ", ": "},
                                                  {" ; ", "; "},
                                                  {" . ", ". "},
                                                  {" ! ", "! "},
                                                  {" ? ", "? "},
                                                  {" , ", ", "}}};

constexpr std::array<std::pair<char, char>, 5> pairs{{{'(', ')'}, {'[', ']'}, {'{', '}'}, {'"', '"'}, {'\'', '\''}}};

constexpr std::array<Replacement, 8> rest{{{"= = = =", "===="},
                                           {"= = =", "==="},
                                           {"= =", "=="},
                                           {" \xC2\xB0 ", "\xC2\xB0"}, // degrees
                                           {" \n", "\n"},
                                           {"\n ", "\n"},
                                           {" N ", " 1 "},
                                           {" 's", "'s"}}};

bool isTopHeading(std::string_view line) {
    std::string plain(line);
    replaceAll(plain, "= = =", "===");
    replaceAll(plain, "= =", "==");
    const std::string_view heading = trimmed(plain);
    return heading.starts_with("= ") && heading.ends_with(" =");
}

/// Calls line(begin, end) for each line; `end` stands behind its line break.
template <typename Use>
void forEachLine(std::string_view text, Use line) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t found = text.find('\n', begin);
        const std::size_t end = found == std::string_view::npos ? text.size() : found + 1;
        line(begin, end);
        begin = end;
    }
}

} // namespace

bool looksLikeWikitext(std::string_view text) {
    bool found = false;
    forEachLine(text, [&](std::size_t begin, std::size_t end) {
        std::string_view line = text.substr(begin, end - begin);
        if (line.ends_with('\n'))
            line.remove_suffix(1);
        found = found || (line.starts_with(" = ") && line.ends_with(" = ") && isTopHeading(line));
    });
    return found;
}

std::vector<std::string_view> wikitextRows(std::string_view text) {
    std::vector<std::string_view> rows;
    forEachLine(text, [&](std::size_t begin, std::size_t end) {
        const std::string_view line = text.substr(begin, end - begin);
        rows.push_back(trimmed(line).empty() ? std::string_view() : line);
    });
    return rows;
}

std::vector<std::string_view> wikitextPages(std::string_view text) {
    std::vector<std::string_view> pages;
    std::size_t start = 0;
    forEachLine(text, [&](std::size_t begin, std::size_t end) {
        if (begin == 0 || !isTopHeading(text.substr(begin, end - begin)))
            return;
        const std::string_view page = text.substr(start, begin - 1 - start);
        if (!trimmed(page).empty())
            pages.push_back(page);
        start = begin;
    });
    pages.push_back(text.substr(start));
    return pages;
}

std::string detokenised(std::string_view page) {
    std::string text(page);
    replaceAll(text, "s '", "s'");
    replaceSlashedDigits(text);
    replaceEach(text, punctuation);
    for (const auto& [open, close] : pairs)
        tightenPairs(text, open, close);
    replaceEach(text, rest);
    return text;
}

std::int64_t wordCount(std::string_view page) {
    std::int64_t words = 1;
    bool inSpace = false;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t space = whiteSpaceAt(page, at);
        words += space > 0 && !inSpace ? 1 : 0;
        inSpace = space > 0;
        at += space > 0 ? space : 1;
    }
    return words;
}

} // namespace secateur
