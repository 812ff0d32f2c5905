#include "backends/tokenizers/decoders.h"

#include "backends/tokenizers/growth.h"
#include "backends/tokenizers/unicode.h"
#include "backends/tokenizers/vocabulary.h"

#include <array>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

using Tokens = std::vector<std::string>;

std::size_t bytesOf(const Tokens& texts) {
    std::size_t bytes = 0;
    for (const std::string& text : texts)
        bytes += text.size();
    return bytes;
}

/// Checks the size of texts while a decoder replaces parts of them.
class DecodedSize {
public:
    /// @param given size of the texts before the first decoder
    DecodedSize(const Tokens& tokens, std::size_t given)
        : m_given(given)
        , m_bytes(bytesOf(tokens)) {}
    /// @throws GrowthError
    void replace(std::size_t old, std::size_t fresh) {
        m_bytes = m_bytes - old + fresh;
        if (m_bytes > growthLimit(m_given))
            throw GrowthError(m_given, "bytes");
    }

private:
    std::size_t m_given;
    std::size_t m_bytes;
};

/// @param size nullptr if the replacement is not longer than the pattern
void replaceAll(std::string& text, std::string_view pattern, std::string_view replacement,
                DecodedSize* size = nullptr) {
    std::size_t at = pattern.empty() ? std::string::npos : text.find(pattern);
    if (at == std::string::npos)
        return;
    std::string fresh;
    std::size_t kept = 0;
    for (; at != std::string::npos; at = text.find(pattern, kept)) {
        fresh.append(text, kept, at - kept).append(replacement);
        kept = at + pattern.size();
        if (size)
            size->replace(pattern.size(), replacement.size());
    }
    text = fresh.append(text, kept);
}

void replaceAll(std::string& text, const Regex& pattern, std::string_view replacement, DecodedSize& size) {
    std::string fresh;
    std::size_t kept = 0;
    pattern.forEach(text, [&](std::size_t begin, std::size_t end) {
        fresh.append(text, kept, begin - kept).append(replacement);
        kept = end;
        size.replace(end - begin, replacement.size());
    });
    text = fresh.append(text, kept);
}

class DecoderSteps : public Decoder {
public:
    using Work = std::function<void(Tokens& tokens, std::size_t given)>;

    explicit DecoderSteps(Work work)
        : m_work(std::move(work)) {}
    void apply(Tokens& tokens, std::size_t given) const override { m_work(tokens, given); }

private:
    Work m_work;
};

/// A decoder whose texts hardly grow.
DecoderPtr decoder(const std::function<void(Tokens&)>& work) {
    return std::make_unique<DecoderSteps>([work](Tokens& tokens, std::size_t) { work(tokens); });
}

/// A decoder that replaces texts in each token by longer ones.
DecoderPtr replacingDecoder(const std::function<void(std::string& token, DecodedSize& size)>& replace) {
    return std::make_unique<DecoderSteps>([replace](Tokens& tokens, std::size_t given) {
        DecodedSize size(tokens, given);
        for (std::string& token : tokens)
            replace(token, size);
    });
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

void decode(std::span<const DecoderPtr> decoders, Tokens& tokens) {
    const std::size_t given = bytesOf(tokens) + tokens.size();
    for (const DecoderPtr& step : decoders)
        step->apply(tokens, given);
}

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
    return replacingDecoder(
        [=](std::string& token, DecodedSize& size) { replaceAll(token, pattern, replacement, &size); });
}

DecoderPtr makeReplaceRegexDecoder(std::shared_ptr<const Regex> pattern, std::string replacement) {
    return replacingDecoder(
        [=](std::string& token, DecodedSize& size) { replaceAll(token, *pattern, replacement, size); });
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
