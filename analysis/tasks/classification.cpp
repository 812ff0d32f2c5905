#include "analysis/tasks/classification.h"

#include "analysis/base/error.h"
#include "analysis/running/for_each_layer.h"
#include "analysis/running/padded_batches.h"
#include "analysis/base/text.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace secateur {

namespace {

/// Tokens that the texts of a pair keep, where `room` is less than both have.
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

/// Of the letters A to Z: data sets and checkpoints often differ in no more ("positive", "POSITIVE").
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

    /// -> log probabilities of the classes of each text
    std::vector<std::vector<OptionScore>> scores(const std::vector<TokenSequence>& texts, std::int64_t batchTokens) {
        m_scores.resize(texts.size());
        m_all = paddedBatches(texts, batchTokens);
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
                throw Error("The model gives a label no finite probability: labels cannot be compared");
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
        throw Error(fmt::format("has the label \"{}\", which is none of the model's {} classes", text.label, classes),
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
        throw Error(fmt::format("leaves no room for text beside its {} special tokens", special),
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
        throw Error("has no classifier: it tells no labels apart", model.card().path);
    if (task.texts.empty())
        throw Error("holds no texts to classify", task.name);
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

} // namespace secateur
