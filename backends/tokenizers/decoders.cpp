#include "backends/tokenizers/decoders.h"

#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

using Tokens = std::vector<std::string>;

void replaceAll(std::string& text, std::string_view pattern, std::string_view replacement) {
    std::size_t at = pattern.empty() ? std::string::npos : text.find(pattern);
    if (at == std::string::npos)
        return;
    std::string fresh;
    std::size_t kept = 0;
    for (; at != std::string::npos; at = text.find(pattern, kept)) {
        fresh.append(text, kept, at - kept).append(replacement);
        kept = at + pattern.size();
    }
    text = fresh.append(text, kept);
}

class DecoderSteps : public Decoder {
public:
    explicit DecoderSteps(std::function<void(Tokens&)> work)
        : m_work(std::move(work)) {}
    void apply(Tokens& tokens) const override { m_work(tokens); }

private:
    std::function<void(Tokens&)> m_work;
};

DecoderPtr decoder(std::function<void(Tokens&)> work) {
    return std::make_unique<DecoderSteps>(std::move(work));
}

void spellBytes(Tokens& tokens) {
    std::string bytes;
    for (const std::string& token : tokens)
        bytes += spelledBytes(token).value_or(token);
    tokens = {unicode::repaired(bytes)};
}

void fallBack(Tokens& tokens) {
    Tokens spelled;
    std::string bytes;
    const auto flush = [&] {
        if (unicode::isValid(bytes))
            spelled.push_back(bytes);
        else
            spelled.insert(spelled.end(), bytes.size(), unicode::utf8(unicode::replacement));
        bytes.clear();
    };
    for (std::string& token : tokens) {
        if (const auto byte = namedByte(token)) {
            bytes.push_back(static_cast<char>(*byte));
            continue;
        }
        if (!bytes.empty())
            flush();
        spelled.push_back(std::move(token));
    }
    if (!bytes.empty())
        flush();
    tokens = std::move(spelled);
}

void strip(std::string& token, const std::string& character, std::size_t fromStart, std::size_t fromEnd) {
    for (; fromStart > 0 && token.starts_with(character); --fromStart)
        token.erase(0, character.size());
    for (; fromEnd > 0 && token.ends_with(character); --fromEnd)
        token.resize(token.size() - character.size());
}

void cleanUp(std::string& token) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> joined{{{" .", "."},
                                                                                           {" ?", "?"},
                                                                                           {" !", "!"},
                                                                                           {" ,", ","},
                                                                                           {" ' ", "'"},
                                                                                           {" n't", "n't"},
                                                                                           {" 'm", "'m"},
                                                                                           {" do not", " don't"},
                                                                                           {" 's", "'s"},
                                                                                           {" 've", "'ve"},
                                                                                           {" 're", "'re"}}};
    for (const auto& [apart, together] : joined)
        replaceAll(token, apart, together);
}

} // namespace

DecoderPtr makeByteLevelDecoder() {
    return decoder(spellBytes);
}

DecoderPtr makeByteFallbackDecoder() {
    return decoder(fallBack);
}

DecoderPtr makeFuse() {
    return decoder([](Tokens& tokens) { tokens = {std::accumulate(tokens.begin(), tokens.end(), std::string())}; });
}

DecoderPtr makeStripDecoder(std::string character, std::size_t fromStart, std::size_t fromEnd) {
    return decoder([=](Tokens& tokens) {
        for (std::string& token : tokens)
            strip(token, character, fromStart, fromEnd);
    });
}

DecoderPtr makeReplaceTextDecoder(std::string pattern, std::string replacement) {
    return decoder([=](Tokens& tokens) {
        for (std::string& token : tokens)
            replaceAll(token, pattern, replacement);
    });
}

DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement) {
    return decoder([=](Tokens& tokens) {
        for (std::string& token : tokens) {
            std::string fresh;
            std::size_t kept = 0;
            pattern->forEach(token, [&](std::size_t begin, std::size_t end) {
                fresh.append(token, kept, begin - kept).append(replacement);
                kept = end;
            });
            token = fresh.append(token, kept);
        }
    });
}

DecoderPtr makeMetaspaceDecoder(std::string mark, PrependScheme scheme) {
    return decoder([=](Tokens& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            replaceAll(tokens[i], mark, i == 0 && scheme != PrependScheme::never ? "" : " ");
    });
}

DecoderPtr makeWordPieceDecoder(std::string prefix, bool clean) {
    return decoder([=](Tokens& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (i > 0 && tokens[i].starts_with(prefix))
                tokens[i].erase(0, prefix.size());
            else if (i > 0)
                tokens[i].insert(0, " ");
            if (clean)
                cleanUp(tokens[i]);
        }
    });
}

DecoderPtr makeWordEndDecoder(std::string wordEnd) {
    return decoder([=](Tokens& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            replaceAll(tokens[i], wordEnd, i + 1 == tokens.size() ? "" : " ");
    });
}

} // namespace secateur
