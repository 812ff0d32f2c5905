#include "analysis/tasks/option_tokens.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

/// Bytes of a text without the white space at its end.
std::size_t sizeWithoutEnd(std::string_view text) {
    const std::string_view inside = trimmed(text);
    return inside.empty() ? 0 : static_cast<std::size_t>(inside.data() - text.data()) + inside.size();
}

class OptionTokenizer {
public:
    OptionTokenizer(const Tokenizer& tokenizer, const OptionTokenRules& rules)
        : m_tokenizer(tokenizer)
        , m_rules(rules) {}

    OptionTokens tokens(const TaskOption& option) {
        const std::string whole = option.context + option.continuation;
        const std::string_view context = std::string_view(option.context).substr(0, sizeWithoutEnd(option.context));
        // Options of a question mostly share their context, which may be long.
        if (!m_hasContext || context != m_context) {
            m_context = context;
            m_contextIds = context.empty() ? std::vector<int>() : encoded(context);
            m_hasContext = true;
        }
        if (m_contextIds.empty())
            return behindPrefix(whole);
        // The context as it is alone, also where its last letters would be other tokens with what follows.
        OptionTokens tokens{m_contextIds, m_contextIds.size()};
        const std::vector<int> all = encoded(whole);
        if (all.size() > tokens.firstScored)
            tokens.ids.insert(tokens.ids.end(), all.begin() + std::ssize(m_contextIds), all.end());
        return tokens;
    }

private:
    std::vector<int> encoded(std::string_view text) const { return contextTokens(text, m_tokenizer, m_rules.bos); }

    OptionTokens behindPrefix(std::string_view text) const {
        const TokenizerCard& card = m_tokenizer.card();
        const auto prefix = card.bos ? card.bos : card.eos;
        if (!prefix)
            throw Error("has an empty context, and the tokenizer has neither BOS nor EOS to stand for it");
        std::vector<int> ids = m_tokenizer.encode(text, {.addSpecial = false}).ids;
        if (ids.empty() || ids.front() != *prefix)
            ids.insert(ids.begin(), *prefix);
        return {std::move(ids), 1};
    }

    const Tokenizer& m_tokenizer;
    const OptionTokenRules& m_rules;
    bool m_hasContext = false;
    std::string m_context;
    std::vector<int> m_contextIds;
};

/// Leaves the last tokens that the model can see.
void truncate(OptionTokens& tokens, std::size_t mostInputs) {
    if (tokens.ids.size() <= tokens.firstScored)
        throw Error("has a continuation without tokens of its own");
    const std::size_t scored = tokens.ids.size() - tokens.firstScored;
    if (mostInputs == 0 || tokens.ids.size() <= mostInputs + 1)
        return;
    if (scored > mostInputs)
        throw Error(
            fmt::format("has a continuation of {} tokens, more than the {} that the model sees", scored, mostInputs));
    const std::size_t gone = tokens.ids.size() - mostInputs - 1;
    tokens.ids.erase(tokens.ids.begin(), tokens.ids.begin() + static_cast<std::ptrdiff_t>(gone));
    tokens.firstScored -= gone;
}

} // namespace

std::vector<int> contextTokens(std::string_view text, const Tokenizer& tokenizer, BosRule rule) {
    std::vector<int> ids = tokenizer.encode(text, {.addSpecial = rule != BosRule::never}).ids;
    const auto bos = tokenizer.card().bos;
    if (rule == BosRule::always && bos && (ids.empty() || ids.front() != *bos))
        ids.insert(ids.begin(), *bos);
    return ids;
}

std::vector<OptionTokens> optionTokens(const TaskQuestion& question, const Tokenizer& tokenizer,
                                       const OptionTokenRules& rules) {
    OptionTokenizer options(tokenizer, rules);
    std::vector<OptionTokens> all;
    try {
        for (const TaskOption& option : question.options) {
            all.push_back(options.tokens(option));
            truncate(all.back(), rules.mostInputs);
        }
    } catch (const Error& error) {
        throw error.within(fmt::format("line {}", question.line));
    }
    return all;
}

} // namespace secateur
