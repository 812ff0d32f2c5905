#include "backends/text/prompt_tokens.h"

#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>

namespace secateur {

namespace {

/// Blanks made visible where nothing else would be.
std::string labelOf(std::string_view text) {
    std::string label;
    for (const char c : text)
        if (c == '\n')
            label += "⏎";
        else if (c == '\t')
            label += "⇥";
        else if (c != '\r')
            label += c;
    if (label.find_first_not_of(' ') != std::string::npos)
        return label.substr(label.find_first_not_of(' '));
    std::string blanks;
    for (std::size_t i = 0; i < label.size(); ++i)
        blanks += "␣";
    return blanks;
}

} // namespace

PromptTokens promptTokens(const Model& model, const std::string& text) {
    const auto tokenizer = openTokenizer(model.card());
    EncodeOptions options;
    options.ranges = true;
    Encoding encoding = tokenizer->encode(text, options);
    PromptTokens tokens;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const TextRange range = encoding.ranges[i];
        if (range.end > range.begin)
            tokens.labels.push_back(labelOf(std::string_view(text).substr(range.begin, range.end - range.begin)));
        else
            tokens.labels.push_back(tokenizer->token(encoding.ids[i]).value_or(fmt::format("#{}", encoding.ids[i])));
    }
    tokens.ids = std::move(encoding.ids);
    return tokens;
}

} // namespace secateur
