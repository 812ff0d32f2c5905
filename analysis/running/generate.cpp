#include "analysis/running/generate.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

/// The largest logit; NaN if one of them is NaN. ATen's reduction is much faster than a loop.
float largestOf(std::span<const float> logits) {
    auto* first = const_cast<float*>(logits.data()); // ATen has no views of constant numbers
    return at::from_blob(first, {std::ssize(logits)}, at::kFloat).max().item<float>();
}

int likeliest(std::span<const float> logits) {
    return static_cast<int>(std::ranges::find(logits, largestOf(logits)) - logits.begin());
}

/// exp((logit - highest) / temperature): unnormalised probabilities.
std::vector<double> weightsOf(std::span<const float> logits, double temperature) {
    const double highest = std::ranges::max(logits);
    std::vector<double> weights(logits.size());
    std::ranges::transform(logits, weights.begin(),
                           [&](float logit) { return std::exp((logit - highest) / temperature); });
    return weights;
}

/// The smallest set of likeliest tokens whose probabilities sum to at least topP, in descending order. Of equally
/// likely tokens, the lower id comes first.
std::vector<int> nucleus(const std::vector<double>& weights, double topP) {
    std::vector<int> rest(weights.size());
    std::iota(rest.begin(), rest.end(), 0);
    const auto comesLater = [&](int a, int b) {
        const double first = weights[static_cast<std::size_t>(a)];
        const double second = weights[static_cast<std::size_t>(b)];
        return first != second ? first < second : a > b;
    };
    // A heap is used, because few tokens are taken and sorting the whole vocabulary would be slower.
    std::ranges::make_heap(rest, comesLater);
    const double wanted = topP * std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<int> taken;
    for (double sum = 0; !rest.empty() && (taken.empty() || sum < wanted);) {
        std::ranges::pop_heap(rest, comesLater);
        taken.push_back(rest.back());
        rest.pop_back();
        sum += weights[static_cast<std::size_t>(taken.back())];
    }
    return taken;
}

/// A number drawn uniformly from [0, 1), made from the upper 53 bits. The results of std::uniform_real_distribution
/// differ between libraries.
double uniform(std::mt19937_64& random) {
    return std::ldexp(static_cast<double>(random() >> 11U), -53);
}

} // namespace

void checkSampling(const Sampling& sampling) {
    if (!std::isfinite(sampling.temperature) || sampling.temperature < 0)
        throw UsageError(fmt::format("is {}, but must be 0 or more", sampling.temperature), "temperature");
    if (!(sampling.topP > 0 && sampling.topP <= 1))
        throw UsageError(fmt::format("is {}, but must be above 0 and at most 1", sampling.topP), "top-p");
}

Sampler::Sampler(const Sampling& sampling)
    : m_sampling(sampling)
    , m_random(sampling.seed) {
    checkSampling(sampling);
}

int Sampler::next(std::span<const float> logits) {
    if (logits.empty() || !std::isfinite(largestOf(logits)))
        throw Error("The model's logits are not finite: no token can be chosen", {}, "Check the weights and the mask");
    return m_sampling.temperature > 0 ? draw(logits) : likeliest(logits);
}

int Sampler::draw(std::span<const float> logits) {
    const std::vector<double> weights = weightsOf(logits, m_sampling.temperature);
    std::vector<int> tokens(weights.size());
    if (m_sampling.topP < 1)
        tokens = nucleus(weights, m_sampling.topP);
    else
        std::iota(tokens.begin(), tokens.end(), 0);
    double total = 0;
    for (const int token : tokens)
        total += weights[static_cast<std::size_t>(token)];
    double left = uniform(m_random) * total;
    for (const int token : tokens) {
        left -= weights[static_cast<std::size_t>(token)];
        if (left < 0)
            return token;
    }
    return likeliest(logits); // reached only if rounding prevented the loop from choosing a token
}

namespace {

/// Maximum number of tokens of a text, including new tokens.
std::int64_t mostTokens(const Model& model) {
    return model.spec().context > 0 ? model.spec().context : std::numeric_limits<int>::max();
}

void checkPrompts(const Model& model, std::span<const std::vector<int>> prompts) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: it cannot continue texts", model.card().path);
    for (const std::vector<int>& prompt : prompts) {
        if (prompt.empty())
            throw Error("The prompt is empty", {}, "Begin the text with a word");
        if (static_cast<std::int64_t>(prompt.size()) >= mostTokens(model))
            throw Error(fmt::format("The prompt has {} tokens, which leaves no room in the model's context of {}",
                                    prompt.size(), mostTokens(model)));
    }
}

class Generator {
public:
    Generator(const Model& model, const Plan& plan, std::span<const std::vector<int>> prompts,
              const GenerationRules& rules, const TokenSink& sink)
        : m_model(model)
        , m_runner(model.runner())
        , m_plan(plan)
        , m_rules(rules)
        , m_sink(sink) {
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            Sampling sampling = rules.sampling;
            sampling.seed += i;
            m_texts.push_back({prompts[i], static_cast<std::ptrdiff_t>(prompts[i].size()), Sampler(sampling)});
        }
    }

    std::vector<Continuation> run(const Progress& progress) {
        if (m_rules.newTokens > 0 && !m_texts.empty())
            work(progress);
        progress.report(1, "done");
        std::vector<Continuation> results;
        for (const Text& text : m_texts)
            results.push_back({{text.ids.begin() + text.promptSize, text.ids.end()}, text.end});
        return results;
    }

private:
    struct Text {
        std::vector<int> ids; ///< tokens of the prompt and new tokens
        std::ptrdiff_t promptSize;
        Sampler sampler;
        bool hasBegun = false; ///< whether its prompt was read
        bool goesOn = true;
        TextEnd end = TextEnd::complete;
    };

    using Texts = std::vector<std::size_t>; ///< indices of texts

    void work(const Progress& progress) {
        const std::size_t rows =
            m_rules.rows > 0 ? std::min(m_texts.size(), static_cast<std::size_t>(m_rules.rows)) : m_texts.size();
        m_rows.resize(rows);
        std::iota(m_rows.begin(), m_rows.end(), std::size_t{0});
        m_begun = rows;
        const auto cache = m_runner.cache(m_plan, static_cast<int>(rows), capacity());
        begin(m_rows, *cache, progress);
        for (refill(*cache, progress); std::ranges::any_of(m_rows, [&](std::size_t text) { return goesOn(text); });
             refill(*cache, progress)) {
            const double step = 1 / allWork();
            const at::Tensor behind =
                logits(std::array{newestTokens()}, *cache, progress.part(done(), std::min(1.0, done() + step)),
                       fmt::format("{} of at most {} tokens", m_tokens, m_texts.size() * newTokens()));
            choose(m_rows, behind);
        }
    }

    bool goesOn(std::size_t text) const { return m_texts[text].goesOn; }
    std::size_t newTokens() const { return static_cast<std::size_t>(m_rules.newTokens); }

    /// Number of tokens of all texts, if each has all of them; a prompt counts as one.
    double allWork() const { return static_cast<double>(m_texts.size() * (newTokens() + 1)); }

    /// The part of the work that is done. Texts that have ended have no more to do.
    double done() const {
        double tokens = 0;
        for (const Text& text : m_texts)
            tokens += !text.goesOn
                          ? static_cast<double>(newTokens() + 1)
                          : static_cast<double>(std::ssize(text.ids) - text.promptSize + (text.hasBegun ? 1 : 0));
        return tokens / allWork();
    }

    /// Gives the rows of texts that have ended to the next texts, until all rows go on or no text is left.
    void refill(KvCache& cache, const Progress& progress) {
        while (m_begun < m_texts.size()) {
            std::vector<int> rows;
            Texts texts;
            for (std::size_t row = 0; row < m_rows.size() && m_begun < m_texts.size(); ++row)
                if (!goesOn(m_rows[row])) {
                    rows.push_back(static_cast<int>(row));
                    texts.push_back(m_rows[row] = m_begun++);
                }
            if (rows.empty())
                return;
            const auto own = m_runner.cache(m_plan, static_cast<int>(rows.size()), longest(texts));
            begin(texts, *own, progress);
            for (std::size_t i = 0; i < rows.size(); ++i)
                cache.begin(rows[i], *own, static_cast<int>(i), static_cast<int>(m_texts[texts[i]].promptSize));
        }
    }

    /// Reads the prompts of texts and chooses their first tokens. @param cache its rows are these texts
    void begin(const Texts& texts, KvCache& cache, const Progress& progress) {
        const double part = static_cast<double>(texts.size()) / allWork();
        const at::Tensor behind = logits(promptChunks(texts), cache,
                                         progress.part(done(), std::min(1.0, done() + part)), "reading the prompt");
        for (const std::size_t text : texts)
            m_texts[text].hasBegun = true;
        choose(texts, behind);
    }

    int longest(const Texts& texts) const {
        std::size_t most = 0;
        for (const std::size_t text : texts)
            most = std::max(most, static_cast<std::size_t>(m_texts[text].promptSize));
        return static_cast<int>(most);
    }

    int capacity() const {
        const std::int64_t longest = std::ranges::max_element(m_texts, {}, &Text::promptSize)->promptSize;
        return static_cast<int>(std::min(longest + m_rules.newTokens, mostTokens(m_model)));
    }

    /// The prompts in chunks; the rows of a chunk have the same positions. A row whose prompt has ended repeats its
    /// last token at the same position. The last position of the last chunk is therefore the end of every prompt.
    std::vector<Batch> promptChunks(const Texts& texts) const {
        const int rows = static_cast<int>(texts.size());
        const int step = std::max(1, m_rules.chunk / rows);
        std::vector<Batch> chunks;
        for (int begin = 0, end = longest(texts); begin < end; begin += step) {
            Batch batch{rows, std::min(step, end - begin), {}, {}, {}, {}};
            for (const std::size_t index : texts) {
                const Text& text = m_texts[index];
                const int size = static_cast<int>(text.ids.size());
                const int first = std::min(begin, size - 1);
                const int count = std::min(batch.positions, size - first);
                batch.firstPosition.push_back(first);
                batch.lengths.push_back(count);
                batch.ids.insert(batch.ids.end(), text.ids.begin() + first, text.ids.begin() + first + count);
                batch.ids.resize(batch.lengths.size() * static_cast<std::size_t>(batch.positions), text.ids.back());
            }
            chunks.push_back(std::move(batch));
        }
        return chunks;
    }

    /// A batch with the last token of the text of each row. Texts that have ended repeat their last token.
    Batch newestTokens() const {
        Batch batch{static_cast<int>(m_rows.size()), 1, {}, {}, {}, {}};
        for (const std::size_t index : m_rows) {
            const Text& text = m_texts[index];
            batch.ids.push_back(text.ids.back());
            batch.firstPosition.push_back(static_cast<int>(text.ids.size()) - 1);
        }
        return batch;
    }

    /// Runs consecutive batches and returns the logits after the last one, [rows, vocab]. All batches go through a
    /// layer before the next layer begins. Weights that do not stay in memory are then read only once for a long
    /// prompt.
    at::Tensor logits(std::span<const Batch> batches, KvCache& cache, const Progress& progress,
                      std::string_view text) const {
        const int layers = m_plan.mask().layerCount();
        const auto report = [&](double layer) { progress.report(layer / layers, text); };
        std::vector<at::Tensor> streams;
        for (const Batch& batch : batches)
            streams.push_back(m_runner.embed(m_plan, batch));
        if (batches.size() == 1) {
            streams[0] = m_runner.runLayers(m_plan, streams[0], batches[0], cache, report);
        } else {
            for (int layer = 0; layer < layers; ++layer)
                for (std::size_t i = 0; i < batches.size(); ++i) {
                    report(layer + static_cast<double>(i) / static_cast<double>(batches.size()));
                    streams[i] = m_runner.runLayer(m_plan, layer, streams[i], batches[i], &cache);
                }
        }
        return m_runner.lmHead(m_plan, streams.back(), batches.back(), true).to(at::kCPU, at::kFloat).contiguous();
    }

    /// Chooses the next token of texts that go on. @param logits [texts, vocab]
    void choose(const Texts& texts, const at::Tensor& logits) {
        const auto vocab = static_cast<std::size_t>(logits.size(1));
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (goesOn(texts[i]))
                extend(texts[i], next(m_texts[texts[i]], {logits.data_ptr<float>() + i * vocab, vocab}));
    }

    int next(Text& text, std::span<const float> logits) const {
        try {
            return text.sampler.next(logits);
        } catch (const Error& error) {
            const int positions = static_cast<int>(text.ids.size());
            const std::string cause =
                notFiniteText(m_model, m_plan, std::array{Batch{1, positions, text.ids, {}, {}, {}}});
            throw Error(error.message() + (cause.empty() ? "" : "; " + cause), error.subject(), error.hint());
        }
    }

    void extend(std::size_t index, int token) {
        Text& text = m_texts[index];
        if (std::ranges::find(m_rules.stopTokens, token) != m_rules.stopTokens.end()) {
            text.end = TextEnd::stopToken;
            text.goesOn = false;
            return;
        }
        text.ids.push_back(token);
        ++m_tokens;
        const auto size = static_cast<std::ptrdiff_t>(text.ids.size());
        text.goesOn = size - text.promptSize < m_rules.newTokens && size < mostTokens(m_model);
        if (!text.goesOn && size - text.promptSize < m_rules.newTokens)
            text.end = TextEnd::contextFull;
        if (m_sink)
            m_sink(index, token);
        if (m_rules.isOver && m_rules.isOver(index)) {
            text.end = TextEnd::complete;
            text.goesOn = false;
        }
    }

    const Model& m_model;
    const Runner& m_runner;
    const Plan& m_plan;
    const GenerationRules& m_rules;
    const TokenSink& m_sink;
    std::vector<Text> m_texts;
    Texts m_rows;             ///< the text of each row of the cache
    std::size_t m_begun = 0;  ///< number of texts that have had a row
    std::size_t m_tokens = 0; ///< new tokens of all texts
};

} // namespace

std::string_view name(TextEnd end) {
    constexpr std::array names{std::string_view("complete"), std::string_view("stop_token"),
                               std::string_view("context_full")};
    return names[static_cast<std::size_t>(end)];
}

std::vector<Continuation> generate(const Model& model, const Plan& plan, std::span<const std::vector<int>> prompts,
                                   const GenerationRules& rules, const Progress& progress, const TokenSink& sink) {
    checkPrompts(model, prompts);
    return Generator(model, plan, prompts, rules, sink).run(progress);
}

} // namespace secateur
