#include "analysis/text/scored_text.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Repeats a bug of lm-eval: one of its patterns contains slashes, as around a JavaScript regular expression, and
/// therefore hardly ever matches.
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

/// Removes the white space after each `open` and before the next `close`.
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

/// Calls line(begin, end) for each line; [begin, end) includes the line break.
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

namespace {

constexpr std::array protocols{std::string_view("token_ppl"), std::string_view("word_ppl")};
constexpr std::array modes{std::string_view("tokenizer_default"),
                           std::string_view("first_only"),
                           std::string_view("every_window"),
                           std::string_view("always"),
                           std::string_view("never"),
                           std::string_view("lm_eval_new")};

constexpr int defaultWindow = 2048;

template <typename Value, std::size_t count>
Value valueOf(const std::array<std::string_view, count>& names, std::string_view wanted, const char* what) {
    const auto found = std::ranges::find(names, wanted);
    if (found == names.end())
        throw UsageError(fmt::format("unknown {}; the known ones are {}", what, fmt::join(names, ", ")),
                         std::string(wanted));
    return static_cast<Value>(found - names.begin());
}

bool allows(TextProtocol protocol, BosMode mode) {
    return protocol == TextProtocol::tokenPpl ? mode != BosMode::lmEvalNew
                                              : mode != BosMode::never && mode != BosMode::everyWindow;
}

void checkTexts(const std::vector<std::string>& documents) {
    for (std::size_t i = 0; i < documents.size(); ++i)
        if (const auto bad = firstInvalidUtf8(documents[i]))
            throw Error(fmt::format("{}is not UTF-8: invalid byte at offset {} (from 0)",
                                    documents.size() > 1 ? fmt::format("document {} ", i) : "", *bad));
    if (std::ranges::all_of(documents, [](const std::string& text) { return trimmed(text).empty(); }))
        throw Error("contains no text");
}

class WindowBuilder {
public:
    WindowBuilder(const Tokenizer& tokenizer, const PerplexityRules& rules)
        : m_tokenizer(tokenizer)
        , m_card(tokenizer.card())
        , m_text{rules, false, {}, {}, {}} {}

    ScoredText fixedWindows(const std::vector<std::string>& documents) {
        const std::optional<int> front = windowPrefix();
        const bool ownSpecial = !front && rules().bos != BosMode::never;
        std::vector<int> ids = m_tokenizer.encode(joinedRows(documents), {.addSpecial = ownSpecial}).ids;
        if (static_cast<std::int64_t>(ids.size()) > rules().mostTokens)
            ids.resize(static_cast<std::size_t>(rules().mostTokens));
        const std::size_t room = static_cast<std::size_t>(rules().window) - (front ? 1 : 0);
        const std::size_t length = std::min(room, ids.size());
        for (std::size_t begin = 0; length > 0 && begin + length <= ids.size(); begin += length) {
            std::vector<int> window(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                    ids.begin() + static_cast<std::ptrdiff_t>(begin + length));
            if (front)
                window.insert(window.begin(), *front);
            add(std::move(window), 1, 0);
        }
        return finish();
    }

    ScoredText pages(const std::vector<std::string>& documents, const Progress& progress) {
        for (std::size_t i = 0; i < documents.size() && !m_full; ++i) {
            const Progress part = progress.part(static_cast<double>(i) / static_cast<double>(documents.size()),
                                                static_cast<double>(i + 1) / static_cast<double>(documents.size()));
            const bool isWikitext = looksLikeWikitext(documents[i]);
            m_text.isWikitext = m_text.isWikitext || isWikitext;
            const auto own = isWikitext ? wikitextPages(documents[i]) : std::vector<std::string_view>{documents[i]};
            for (std::size_t page = 0; page < own.size() && !m_full; ++page) {
                part.report(static_cast<double>(page) / static_cast<double>(own.size()), "tokenising");
                if (!trimmed(own[page]).empty())
                    addPage(own[page], isWikitext ? detokenised(own[page]) : std::string(own[page]));
            }
        }
        return finish();
    }

private:
    const PerplexityRules& rules() const { return m_text.rules; }

    std::string joinedRows(const std::vector<std::string>& documents) {
        std::vector<std::string_view> rows;
        for (const std::string& document : documents) {
            const bool isWikitext = looksLikeWikitext(document);
            m_text.isWikitext = m_text.isWikitext || isWikitext;
            const auto own = isWikitext ? wikitextRows(document) : std::vector<std::string_view>{document};
            rows.insert(rows.end(), own.begin(), own.end());
        }
        return fmt::format("{}", fmt::join(rows, "\n\n"));
    }

    /// The BOS before each window of tokenPpl; empty if there is none.
    std::optional<int> windowPrefix() const {
        if (rules().bos != BosMode::everyWindow && rules().bos != BosMode::always)
            return std::nullopt;
        if (m_card.addsBos)
            return m_tokenizer.encode("a").ids.front();
        return rules().bos == BosMode::always ? m_card.bos : std::nullopt;
    }

    int pagePrefix() const {
        if (!m_card.bos && !m_card.eos)
            throw Error(
                "cannot be scored by word_ppl: the tokenizer has neither BOS nor EOS to put in front of a page");
        return m_card.bos ? *m_card.bos : *m_card.eos;
    }

    void addPage(std::string_view original, const std::string& scored) {
        std::vector<int> ids{pagePrefix()};
        const Encoding tokens = m_tokenizer.encode(scored, {.addSpecial = rules().bos == BosMode::lmEvalNew});
        ids.insert(ids.end(), tokens.ids.begin(), tokens.ids.end());
        m_pageTokens += static_cast<std::int64_t>(tokens.ids.size());
        m_full = m_pageTokens >= rules().mostTokens;
        if (m_pageTokens > rules().mostTokens && !m_text.pages.empty())
            return;
        for (const RollingWindow& window : rollingWindows(ids.size(), static_cast<std::size_t>(rules().window)))
            add({ids.begin() + static_cast<std::ptrdiff_t>(window.begin),
                 ids.begin() + static_cast<std::ptrdiff_t>(window.end)},
                window.scored - window.begin, m_text.pages.size());
        m_text.pages.push_back({wordCount(original), static_cast<std::int64_t>(original.size()), m_text.pages.size()});
    }

    void add(std::vector<int> ids, std::size_t firstScored, std::size_t page) {
        if (ids.size() <= firstScored)
            return;
        m_text.windows.tokens += static_cast<std::int64_t>(ids.size());
        TokenSequence window;
        window.types.assign(ids.size(), 0);
        window.ids = std::move(ids);
        window.document = page;
        m_text.windows.sequences.push_back(std::move(window));
        m_text.firstScored.push_back(firstScored);
    }

    ScoredText finish() {
        if (m_text.windows.sequences.empty())
            throw Error("is too short: there is no token to predict");
        return std::move(m_text);
    }

    const Tokenizer& m_tokenizer;
    const TokenizerCard& m_card;
    ScoredText m_text;
    std::int64_t m_pageTokens = 0;
    bool m_full = false;
};

} // namespace

std::string_view name(TextProtocol protocol) {
    return protocols[static_cast<std::size_t>(protocol)];
}

std::string_view name(BosMode mode) {
    return modes[static_cast<std::size_t>(mode)];
}

TextProtocol textProtocolOf(std::string_view name) {
    return valueOf<TextProtocol>(protocols, name, "protocol");
}

BosMode bosModeOf(std::string_view name) {
    return valueOf<BosMode>(modes, name, "BOS mode");
}

PerplexityRules withDefaults(const PerplexityRules& rules, const ModelSpec& spec) {
    if (spec.family == Family::encoder)
        throw Error("is an encoder: it does not predict the next token, so it has no perplexity");
    PerplexityRules all = rules;
    const bool isTokenPpl = rules.protocol == TextProtocol::tokenPpl;
    if (!all.bos)
        all.bos =
            isTokenPpl && spec.architecture.starts_with("gemma") ? BosMode::everyWindow : BosMode::tokenizerDefault;
    if (!allows(rules.protocol, *all.bos))
        throw UsageError(fmt::format("{} does not support the BOS mode {}", name(rules.protocol), name(*all.bos)));
    if (all.window == 0) {
        const int context = spec.context > 0 ? spec.context : defaultWindow;
        all.window = isTokenPpl ? std::min(defaultWindow, context) : context;
    }
    if (all.window < 2)
        throw UsageError(
            fmt::format("a window of {} tokens has no token to predict; at least 2 are needed", all.window));
    const int learned = spec.learnedPositions - spec.firstPosition;
    if (spec.positions == Positions::learned && all.window > learned)
        throw Error(fmt::format("has learned {} positions, too few for a window of {} tokens", learned, all.window));
    if (all.mostTokens < 2)
        throw UsageError(
            fmt::format("a text of {} tokens has no token to predict; at least 2 are needed", all.mostTokens));
    return all;
}

ScoredText scoredText(const std::vector<std::string>& documents, const Tokenizer& tokenizer,
                      const PerplexityRules& rules, const Progress& progress) {
    checkTexts(documents);
    WindowBuilder builder(tokenizer, rules);
    progress.report(0, "tokenising");
    return rules.protocol == TextProtocol::tokenPpl ? builder.fixedWindows(documents)
                                                    : builder.pages(documents, progress);
}

std::vector<RollingWindow> rollingWindows(std::size_t tokens, std::size_t most) {
    std::vector<RollingWindow> windows;
    for (std::size_t scored = 1; scored < tokens;) {
        const std::size_t end = std::min(scored + most, tokens);
        windows.push_back({end > most ? end - 1 - most : 0, scored, end});
        scored = end;
    }
    return windows;
}

} // namespace secateur
