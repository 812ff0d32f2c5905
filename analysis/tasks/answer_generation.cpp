#include "analysis/tasks/answer_generation.h"

#include "analysis/base/error.h"
#include "analysis/running/generate.h"
#include "analysis/text/text_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace secateur {

namespace {

constexpr std::int64_t cachedPerToken = 4;
constexpr std::int64_t mostRows = 64;

/// An answer while it is written.
class Draft {
public:
    Draft(const AnswerPrompt& prompt, const std::vector<int>& ids, const Tokenizer& tokenizer)
        : m_prompt(prompt)
        , m_stream(tokenizer) {
        for (const int id : ids)
            m_stream.add(id);
    }

    void add(int token) {
        ++m_tokens;
        append(m_stream.add(token));
    }
    bool isOver() const { return m_stop != std::string::npos || m_tokens >= m_prompt.mostTokens; }
    std::string finish() {
        if (m_stop == std::string::npos)
            append(m_stream.finish());
        return m_text.substr(0, m_stop);
    }

private:
    void append(const std::string& piece) {
        std::size_t longest = 0;
        for (const std::string& stop : m_prompt.stops)
            longest = std::max(longest, stop.size());
        const std::size_t seen = m_text.size() > longest ? m_text.size() - longest : 0;
        m_text += piece;
        if (m_stop == std::string::npos)
            m_stop = firstStop(m_text, m_prompt.stops, seen);
    }

    const AnswerPrompt& m_prompt;
    TextStream m_stream;
    std::string m_text;
    std::size_t m_stop = std::string::npos;
    int m_tokens = 0;
};

class Writer {
public:
    Writer(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const TaskRules& rules)
        : m_model(model)
        , m_plan(plan)
        , m_tokenizer(tokenizer)
        , m_rules(rules) {}

    void add(const AnswerPrompt& prompt) {
        try {
            m_ids.push_back(tokens(prompt));
        } catch (const Error& error) {
            throw error.within(fmt::format("line {}", prompt.line));
        }
        m_prompts.push_back(&prompt);
    }

    /// -> the answers to what was added, in its order
    std::vector<std::string> write(const Progress& progress) {
        m_texts.resize(m_prompts.size());
        std::vector<std::size_t> order(m_prompts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return m_ids[i].size(); });
        const auto count = static_cast<double>(order.size());
        for (std::size_t begin = 0; begin < order.size();) {
            const std::size_t some = together(std::span(order).subspan(begin));
            const auto done = static_cast<double>(begin);
            writeSome(std::span(order).subspan(begin, some),
                      progress.part(done / count, (done + static_cast<double>(some)) / count));
            begin += some;
        }
        return std::move(m_texts);
    }

private:
    std::vector<int> tokens(const AnswerPrompt& prompt) const {
        std::vector<int> ids = contextTokens(prompt.prompt, m_tokenizer, m_rules.tokens.bos);
        const TokenizerCard& card = m_tokenizer.card();
        const auto prefix = card.bos ? card.bos : card.eos;
        if (ids.empty() && !prefix)
            throw Error("has an empty prompt, and the tokenizer has neither BOS nor EOS to stand for it");
        if (ids.empty())
            ids.push_back(*prefix);
        const std::size_t context = m_rules.tokens.mostInputs > 0
                                        ? m_rules.tokens.mostInputs
                                        : static_cast<std::size_t>(std::max(0, m_model.spec().context));
        const auto most = static_cast<std::size_t>(prompt.mostTokens);
        if (context == 0 || ids.size() + most <= context)
            return ids;
        if (most >= context)
            throw Error(fmt::format("asks for {} tokens, which leaves no room for the prompt in the {} that the model "
                                    "sees",
                                    most, context));
        ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(context - most));
        return ids;
    }

    /// How many of the prompts, longest first, are continued side by side.
    std::size_t together(std::span<const std::size_t> order) const {
        const auto longest = std::ssize(m_ids[order.front()]);
        std::int64_t most = 0;
        std::int64_t rows = 0;
        for (; rows < std::min(mostRows, std::ssize(order)); ++rows) {
            most = std::max<std::int64_t>(most, m_prompts[order[static_cast<std::size_t>(rows)]]->mostTokens);
            if (rows > 0 && (rows + 1) * (longest + most) > cachedPerToken * m_rules.batchTokens)
                break;
        }
        return static_cast<std::size_t>(rows);
    }

    void writeSome(std::span<const std::size_t> some, const Progress& progress) {
        std::vector<std::vector<int>> ids;
        std::vector<Draft> drafts;
        GenerationRules rules;
        rules.newTokens = 0;
        for (const std::size_t index : some) {
            ids.push_back(m_ids[index]);
            drafts.emplace_back(*m_prompts[index], m_ids[index], m_tokenizer);
            rules.newTokens = std::max(rules.newTokens, m_prompts[index]->mostTokens);
        }
        if (m_tokenizer.card().eos)
            rules.stopTokens = {*m_tokenizer.card().eos};
        rules.isOver = [&](std::size_t text) { return drafts[text].isOver(); };
        generate(m_model, m_plan, ids, rules, progress, [&](std::size_t text, int token) { drafts[text].add(token); });
        for (std::size_t i = 0; i < some.size(); ++i)
            m_texts[some[i]] = drafts[i].finish();
    }

    const Model& m_model;
    const Plan& m_plan;
    const Tokenizer& m_tokenizer;
    const TaskRules& m_rules;
    std::vector<const AnswerPrompt*> m_prompts;
    std::vector<std::vector<int>> m_ids;
    std::vector<std::string> m_texts;
};

} // namespace

std::size_t firstStop(std::string_view text, std::span<const std::string> stops, std::size_t from) {
    std::size_t first = std::string_view::npos;
    for (const std::string& stop : stops)
        first = std::min(first, text.find(stop, from));
    return first;
}

std::int64_t answersAtOnce(std::int64_t prompts, std::int64_t tokens, std::int64_t batchTokens) {
    const std::int64_t fit = cachedPerToken * batchTokens / std::max<std::int64_t>(1, tokens);
    return std::clamp<std::int64_t>(std::min(fit, prompts), 1, mostRows);
}

TaskRun generateAnswers(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                        const AnswerJudge& judge, const TaskRules& rules, const Progress& progress) {
    if (task.prompts.empty())
        throw Error("holds no prompts to answer", task.name);
    Writer writer(model, plan, tokenizer, rules);
    const std::vector<std::size_t> chosen = chosenQuestions(task.prompts.size(), rules);
    for (const std::size_t place : chosen)
        writer.add(task.prompts[place]);
    std::vector<std::string> texts = writer.write(progress);
    TaskRun run;
    run.kind = TaskKind::generation;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const AnswerPrompt& prompt = task.prompts[chosen[i]];
        AnswerVerdict verdict = judge(prompt, texts[i]);
        run.written.push_back(
            {prompt.line, std::move(texts[i]), std::move(verdict.compared), verdict.isExact, verdict.f1});
    }
    run.scores = writtenScores(run.written);
    return run;
}

} // namespace secateur
