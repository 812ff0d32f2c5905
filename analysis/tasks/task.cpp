#include "analysis/tasks/task.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

namespace secateur {

namespace {

constexpr std::array<TaskFormat, 12> formats{{
    {"boolq", "Yes/no questions about a passage", TaskKind::choice, "acc",
     "passage, question, label; or answer (true, false)"},
    {"rte", "Textual entailment: whether one sentence follows from another, true or false", TaskKind::choice, "acc",
     "sentence1, sentence2, label; or premise, hypothesis, label"},
    {"hellaswag", "Completion of a scene, four endings", TaskKind::choice, "acc_norm",
     "activity_label, ctx_a, ctx_b, endings, label"},
    {"winogrande", "Pronoun resolution: the rest of a sentence, scored behind each of two names", TaskKind::choice,
     "acc", "sentence, option1, option2, answer"},
    {"arc", "School science questions, three to five choices", TaskKind::choice, "acc_norm",
     "question, choices, answerKey"},
    {"openbookqa", "Elementary science facts: completion of a sentence, four choices", TaskKind::choice, "acc_norm",
     "question_stem, choices, answerKey; or the original files, whose ids are such as 7-980"},
    {"piqa", "Physical common sense: how to do something, two choices", TaskKind::choice, "acc_norm",
     "goal, sol1, sol2, label"},
    {"mmlu", "Examination questions by subject, answered by a letter", TaskKind::choice, "acc",
     "question, subject, choices, answer"},
    {"generic", "Any query with choices, or several contexts with one continuation", TaskKind::choice, "acc",
     "query, choices, gold; or context_options, continuation, gold"},
    {"lambada", "Prediction of the last word of a passage", TaskKind::lastWord, "acc", "context, continuation"},
    {"generate", "Generated answers, compared with reference answers", TaskKind::generation, "exact_match",
     "prompt, answers; optional: stop (texts), max_tokens (256), extract (a regular expression; the first group of its "
     "last match is the answer)"},
    {"classification", "Labelled texts or pairs of texts, for a classifier", TaskKind::classification, "acc",
     "text, sentence or Title, and label or labels; pairs: text_pair as well, or premise, hypothesis, label"},
}};

} // namespace

std::span<const TaskFormat> taskFormats() {
    return formats;
}

const TaskFormat& taskFormat(std::string_view id) {
    const auto found = std::ranges::find(formats, id, &TaskFormat::id);
    if (found != formats.end())
        return *found;
    refuseUnknown("task format", id, idsOf(formats));
}

namespace {

/// Length in bytes of a text up to the white space at its end.
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
        // The last context is cached, because the options of a question usually share their context, which may be long.
        if (!m_hasContext || context != m_context) {
            m_context = context;
            m_contextIds = context.empty() ? std::vector<int>() : encoded(context);
            m_hasContext = true;
        }
        if (m_contextIds.empty())
            return afterPrefix(whole);
        // The context has the tokens of the context alone, even if the tokens of the whole text differ at its end.
        OptionTokens tokens{m_contextIds, m_contextIds.size()};
        const std::vector<int> all = encoded(whole);
        if (all.size() > tokens.firstScored)
            tokens.ids.insert(tokens.ids.end(), all.begin() + std::ssize(m_contextIds), all.end());
        return tokens;
    }

private:
    std::vector<int> encoded(std::string_view text) const { return contextTokens(text, m_tokenizer, m_rules.bos); }

    OptionTokens afterPrefix(std::string_view text) const {
        const TokenizerCard& card = m_tokenizer.card();
        const auto prefix = card.bos ? card.bos : card.eos;
        if (!prefix)
            throw Error("has an empty context, and the tokenizer has neither BOS nor EOS to replace it");
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

/// Removes the first tokens, so that at most `mostInputs` tokens are input of the model.
void truncate(OptionTokens& tokens, std::size_t mostInputs) {
    if (tokens.ids.size() <= tokens.firstScored)
        throw Error("has a continuation without tokens");
    const std::size_t scored = tokens.ids.size() - tokens.firstScored;
    if (mostInputs == 0 || tokens.ids.size() <= mostInputs + 1)
        return;
    if (scored > mostInputs)
        throw Error(fmt::format("has a continuation of {} tokens; the maximum is {}", scored, mostInputs));
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

namespace {

/// Draws `count` elements and moves them to the beginning. std::shuffle is not used, because its results differ between
/// libraries.
void drawToFront(std::vector<std::size_t>& elements, std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < count; ++i)
        std::swap(elements[i], elements[i + random() % (elements.size() - i)]);
}

bool isSame(const TaskQuestion& a, const TaskQuestion& b) {
    return a.options == b.options && a.subject == b.subject;
}

class ExampleList {
public:
    ExampleList(std::span<const TaskQuestion> all, const ShotRules& rules)
        : m_all(all)
        , m_rules(rules)
        , m_random(rules.seed) {
        for (std::size_t i = 0; i < all.size(); ++i)
            m_bySubject[all[i].subject].push_back(i);
    }

    std::string inFrontOf(const TaskQuestion& question) {
        std::vector<std::size_t> own;
        for (const std::size_t index : m_bySubject[question.subject])
            if (!isSame(m_all[index], question))
                own.push_back(index);
        if (own.size() < m_rules.count)
            throw Error(fmt::format("There are {} examples{} to choose from, but {} are needed", own.size(),
                                    question.subject.empty() ? "" : " of " + question.subject, m_rules.count));
        if (m_rules.choice == ShotChoice::drawn)
            drawToFront(own, m_rules.count, m_random);
        std::string text;
        for (std::size_t i = 0; i < m_rules.count; ++i)
            text += m_all[own[i]].solved() + "\n\n";
        return text;
    }

private:
    std::span<const TaskQuestion> m_all;
    const ShotRules& m_rules;
    std::mt19937_64 m_random;
    std::map<std::string, std::vector<std::size_t>> m_bySubject;
};

} // namespace

std::string shotLabel(const ShotRules& rules) {
    if (rules.count == 0)
        return {};
    return rules.choice == ShotChoice::first ? fmt::format("first {} of the list", rules.count)
                                             : fmt::format("own few-shot draw ({}, seed {})", rules.count, rules.seed);
}

std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules) {
    ExampleList shots(examples, rules);
    std::vector<TaskQuestion> prompted(all.begin(), all.end());
    for (TaskQuestion& question : prompted) {
        const std::string front = question.description + (rules.count > 0 ? shots.inFrontOf(question) : "");
        for (TaskOption& option : question.options)
            option.context.insert(0, front);
    }
    return prompted;
}

std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    drawToFront(order, count, random);
    return order;
}

} // namespace secateur
