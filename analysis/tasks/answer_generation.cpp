#include "analysis/tasks/answer_generation.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/running/generate.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/text/tokenizer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

/// The number of tokens that each text of a pair keeps if the two have more than `room` tokens together.
std::pair<std::size_t, std::size_t> keptOfPair(std::size_t first, std::size_t second, std::size_t room) {
    const std::size_t shorter = std::min({first, second, room / 2});
    const std::size_t longer = room - shorter;
    return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

void erase(Encoding& encoding, std::size_t begin, std::size_t end) {
    const auto cut = [&](std::vector<int>& all) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    cut(encoding.ids);
    cut(encoding.types);
}

/// A text with A to Z replaced by a to z. Labels of data sets and checkpoints often differ only in case ("positive",
/// "POSITIVE").
std::string lowerCase(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return text;
}

class Classifier {
public:
    Classifier(const Model& model, const Plan& plan, const Progress& progress)
        : m_model(model)
        , m_plan(plan)
        , m_progress(progress) {}

    /// @returns log probabilities [texts][classes]
    std::vector<std::vector<OptionScore>> scores(const std::vector<TokenSequence>& texts, std::int64_t batchTokens) {
        m_scores.resize(texts.size());
        m_all = paddedBatches(m_model, texts, batchTokens);
        LayerWalk walk;
        walk.finished = [&](std::size_t batch, const at::Tensor& x) { read(batch, x); };
        forEachLayer(m_model.runner(), m_plan, m_all.batches, walk, m_progress);
        return std::move(m_scores);
    }

private:
    void read(std::size_t batch, const at::Tensor& x) {
        const at::Tensor logits = m_model.runner().lmHead(m_plan, x, m_all.batches[batch]).to(at::kCPU, at::kDouble);
        const at::Tensor logs = logits.log_softmax(1).contiguous();
        for (std::size_t row = 0; row < m_all.sequences[batch].size(); ++row) {
            const at::Tensor own = logs[static_cast<std::int64_t>(row)];
            if (!own.isfinite().all().item<bool>())
                throw Error("The model gives a class no finite probability: classes cannot be compared");
            const double best = own.max().item<double>();
            for (std::int64_t i = 0; i < own.numel(); ++i) {
                const double one = own[i].item<double>();
                m_scores[m_all.sequences[batch][row]].push_back({one, one == best});
            }
        }
    }

    const Model& m_model;
    const Plan& m_plan;
    const Progress& m_progress;
    PaddedBatches m_all;
    std::vector<std::vector<OptionScore>> m_scores;
};

} // namespace

std::size_t classOf(const LabelledText& text, std::span<const std::string> names, std::size_t classes) {
    const auto named = std::ranges::find(names, text.label);
    const auto found = named != names.end() ? named : std::ranges::find(names, lowerCase(text.label), lowerCase);
    if (found != names.end())
        return static_cast<std::size_t>(found - names.begin());
    std::size_t number = 0;
    const char* const end = text.label.data() + text.label.size();
    const auto [last, error] = std::from_chars(text.label.data(), end, number);
    if (error != std::errc() || last != end || number >= classes)
        throw Error(
            fmt::format("has the label \"{}\", which is not one of the model's {} classes", text.label, classes),
            fmt::format("line {}", text.line),
            names.empty() ? "" : "Their names are " + join({names.begin(), names.end()}, ", "));
    return number;
}

Encoding cutEncoding(const LabelledText& text, const Tokenizer& tokenizer, std::size_t most) {
    Encoding whole = text.pair ? tokenizer.encodePair(text.text, *text.pair) : tokenizer.encode(text.text);
    if (most == 0 || whole.ids.size() <= most)
        return whole;
    const auto bare = [&](const std::string& part) { return tokenizer.encode(part, {.addSpecial = false}).ids.size(); };
    const std::size_t first = bare(text.text);
    const std::size_t second = text.pair ? bare(*text.pair) : 0;
    const std::size_t special = whole.ids.size() - first - second;
    if (most <= special)
        throw Error(fmt::format("leaves no room for text: a sequence has {} special tokens", special),
                    fmt::format("a length of {} tokens", most));
    const std::size_t front = tokenizer.card().addsBos ? 1 : 0;
    const auto [keptFirst, keptSecond] =
        text.pair ? keptOfPair(first, second, most - special) : std::pair(most - special, std::size_t{0});
    if (text.pair) {
        const std::size_t end = tokenizer.encode(text.text).ids.size() - first - front;
        erase(whole, whole.ids.size() - end - second + keptSecond, whole.ids.size() - end);
    }
    erase(whole, front + keptFirst, front + first);
    return whole;
}

std::vector<TokenSequence> labelledSequences(const ModelSpec& spec, const Tokenizer& tokenizer, const Task& task,
                                             const TaskRules& rules) {
    const std::size_t most =
        rules.tokens.mostInputs > 0 ? rules.tokens.mostInputs : static_cast<std::size_t>(std::max(0, spec.context));
    std::vector<TokenSequence> sequences;
    for (const std::size_t place : chosenQuestions(task.texts.size(), rules)) {
        Encoding own = cutEncoding(task.texts[place], tokenizer, most);
        sequences.push_back({std::move(own.ids), std::move(own.types), place});
    }
    return sequences;
}

TaskRun classifyTexts(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const Task& task,
                      std::span<const std::string> classNames, const TaskRules& rules, const Progress& progress) {
    if (!model.has(-1, WeightName::classifier))
        throw Error("has no classifier: it cannot label texts", model.card().path);
    if (task.texts.empty())
        throw Error("contains no texts to classify", task.name);
    const auto classes = static_cast<std::size_t>(model.spec().classes);
    TaskRun run;
    run.kind = TaskKind::classification;
    for (const std::size_t place : chosenQuestions(task.texts.size(), rules)) {
        const LabelledText& text = task.texts[place];
        run.questions.push_back({text.line, {}, classOf(text, classNames, classes), {}});
    }
    const std::vector<TokenSequence> sequences = labelledSequences(model.spec(), tokenizer, task, rules);
    const auto scores = Classifier(model, plan, progress).scores(sequences, rules.batchTokens);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        AnsweredQuestion& question = run.questions[i];
        question.scores = scores[i];
        const auto best = std::ranges::max_element(scores[i], {}, &OptionScore::logProbability) - scores[i].begin();
        question.byTotal = question.byCodePoints = question.byBytes = static_cast<std::size_t>(best);
    }
    run.scores = taskScores(run.kind, run.questions);
    return run;
}

namespace {

constexpr std::int64_t cachedPerToken = 4; ///< maximum number of cached tokens of a batch is this times batchTokens
constexpr std::int64_t mostRows = 64;

/// An answer that is being generated.
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

class AnswerGenerator {
public:
    AnswerGenerator(const Model& model, const Plan& plan, const Tokenizer& tokenizer, const TaskRules& rules)
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
        m_mostTokens = std::max(m_mostTokens, prompt.mostTokens);
    }

    /// @returns the answers to all prompts, in order
    std::vector<std::string> answers(const Progress& progress) {
        m_texts.resize(m_prompts.size());
        std::vector<std::size_t> order(m_prompts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return m_ids[i].size(); });
        const auto count = static_cast<double>(order.size());
        for (std::size_t begin = 0; begin < order.size();) {
            const std::size_t rows = rowsFor(std::span(order).subspan(begin));
            const std::size_t some = groupSize(std::span(order).subspan(begin), rows);
            const auto done = static_cast<double>(begin);
            generateGroup(std::span(order).subspan(begin, some), rows,
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
            throw Error("has an empty prompt, and the tokenizer has neither BOS nor EOS to replace it");
        if (ids.empty())
            ids.push_back(*prefix);
        const std::size_t context = m_rules.tokens.mostInputs > 0
                                        ? m_rules.tokens.mostInputs
                                        : static_cast<std::size_t>(std::max(0, m_model.spec().context));
        const auto most = static_cast<std::size_t>(prompt.mostTokens);
        if (context == 0 || ids.size() + most <= context)
            return ids;
        if (most >= context)
            throw Error(fmt::format(
                "asks for {} tokens, which leaves no room for the prompt in the model's context of {}", most, context));
        ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(context - most));
        return ids;
    }

    /// Number of prompts that share one cache of `rows` rows: up to those of which twice as many would fit.
    std::size_t groupSize(std::span<const std::size_t> order, std::size_t rows) const {
        std::size_t size = rows;
        while (size < order.size() && rowsFor(order.subspan(size)) < 2 * rows)
            ++size;
        return size;
    }

    /// Number of prompts that fit at once, if the longest does. @param order prompts without an answer, longest first
    std::size_t rowsFor(std::span<const std::size_t> order) const {
        return static_cast<std::size_t>(
            answersAtOnce(std::ssize(order), std::ssize(m_ids[order.front()]) + m_mostTokens, m_rules.batchTokens));
    }

    void generateGroup(std::span<const std::size_t> some, std::size_t rows, const Progress& progress) {
        std::vector<std::vector<int>> ids;
        std::vector<Draft> drafts;
        GenerationRules rules;
        rules.newTokens = 0;
        rules.rows = static_cast<int>(rows);
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
    int m_mostTokens = 0; ///< of any answer
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
        throw Error("contains no prompts to answer", task.name);
    AnswerGenerator generator(model, plan, tokenizer, rules);
    const std::vector<std::size_t> chosen = chosenQuestions(task.prompts.size(), rules);
    for (const std::size_t place : chosen)
        generator.add(task.prompts[place]);
    std::vector<std::string> texts = generator.answers(progress);
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
