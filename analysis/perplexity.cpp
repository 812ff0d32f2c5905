#include "analysis/perplexity.h"

#include "analysis/error.h"
#include "analysis/for_each_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

/// Loss of a window or a page, and what it is divided by.
struct Share {
    double nats = 0;
    double weight = 0;
};

std::vector<Share> sharesOf(const Perplexity& run) {
    std::vector<Share> shares;
    if (run.rules.protocol == TextProtocol::tokenPpl) {
        for (const WindowLoss& window : run.windows)
            shares.push_back({window.nats, static_cast<double>(window.tokens)});
        return shares;
    }
    for (const PageSize& page : run.pages)
        shares.push_back({0, static_cast<double>(page.words)});
    for (const WindowLoss& window : run.windows)
        shares[window.page].nats += window.nats;
    return shares;
}

struct Estimate {
    double mean = 0;
    double standardError = 0;
};

/// Sum of the losses over sum of the weights, and the standard error of that ratio; with equal weights that of a mean.
Estimate ratio(const std::vector<Share>& shares) {
    double nats = 0;
    double weight = 0;
    for (const Share& share : shares) {
        nats += share.nats;
        weight += share.weight;
    }
    const double mean = nats / weight;
    const auto count = static_cast<double>(shares.size());
    double squares = 0;
    for (const Share& share : shares)
        squares += (share.nats - mean * share.weight) * (share.nats - mean * share.weight);
    const double error = shares.size() < 2 ? std::numeric_limits<double>::quiet_NaN()
                                           : std::sqrt(squares * count / (count - 1)) / weight;
    return {mean, error};
}

/// Windows side by side: what goes in is each window without its last token, which nothing follows.
struct ScoredBatch {
    std::vector<std::size_t> windows; ///< of each row
    std::vector<int> targets;         ///< [rows * positions], -1 = not scored
};

class Scoring {
public:
    Scoring(const Model& model, const Plan& plan, const ScoredText& text)
        : m_runner(model.runner())
        , m_plan(plan)
        , m_text(text)
        , m_losses(text.windows.sequences.size()) {}

    std::vector<WindowLoss> run(std::int64_t batchTokens, const Progress& progress) {
        cut(batchTokens);
        LayerWalk walk;
        walk.finished = [&](std::size_t batch, const at::Tensor& x) { readOut(batch, x, progress); };
        forEachLayer(m_runner, m_plan, m_batches, walk, progress);
        progress.report(1, "done");
        return std::move(m_losses);
    }

private:
    std::size_t inputs(std::size_t window) const { return m_text.windows.sequences[window].ids.size() - 1; }

    void cut(std::int64_t batchTokens) {
        std::vector<std::size_t> order(m_losses.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return inputs(i); });
        for (std::size_t begin = 0; begin < order.size();) {
            const auto positions = static_cast<std::int64_t>(inputs(order[begin]));
            const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(1, batchTokens / positions));
            const std::size_t count = std::min(rows, order.size() - begin);
            add(std::span(order).subspan(begin, count), static_cast<int>(positions));
            begin += count;
        }
    }

    void add(std::span<const std::size_t> windows, int positions) {
        Batch batch{static_cast<int>(windows.size()), positions, {}, {}, {}, {}};
        ScoredBatch scored{{windows.begin(), windows.end()}, {}};
        for (const std::size_t index : windows) {
            const std::vector<int>& ids = m_text.windows.sequences[index].ids;
            const std::size_t rowEnd = batch.ids.size() + static_cast<std::size_t>(positions);
            batch.lengths.push_back(static_cast<int>(ids.size()) - 1);
            batch.ids.insert(batch.ids.end(), ids.begin(), ids.end() - 1);
            for (std::size_t next = 1; next < ids.size(); ++next)
                scored.targets.push_back(next >= m_text.firstScored[index] ? ids[next] : -1);
            batch.ids.resize(rowEnd, 0);
            scored.targets.resize(rowEnd, -1);
        }
        m_batches.push_back(std::move(batch));
        m_scored.push_back(std::move(scored));
    }

    /// A part of the positions at a time, so that a stop is heard between them: a large vocabulary takes long.
    void readOut(std::size_t index, const at::Tensor& x, const Progress& progress) {
        constexpr std::size_t positionsAtOnce = 1024;
        const Batch& batch = m_batches[index];
        const ScoredBatch& scored = m_scored[index];
        for (std::size_t begin = 0; begin < scored.targets.size(); begin += positionsAtOnce) {
            progress.check();
            const std::size_t end = std::min(begin + positionsAtOnce, scored.targets.size());
            std::vector<int> targets(scored.targets.size(), -1);
            std::copy(scored.targets.begin() + static_cast<std::ptrdiff_t>(begin),
                      scored.targets.begin() + static_cast<std::ptrdiff_t>(end),
                      targets.begin() + static_cast<std::ptrdiff_t>(begin));
            const TokenLosses losses = m_runner.losses(m_plan, x, batch, targets);
            for (std::size_t i = begin; i < end; ++i)
                if (targets[i] >= 0)
                    count(scored.windows[i / static_cast<std::size_t>(batch.positions)], losses.nats[i]);
        }
    }

    void count(std::size_t window, double nats) {
        WindowLoss& loss = m_losses[window];
        loss.page = m_text.windows.sequences[window].document;
        loss.nats += nats;
        ++loss.tokens;
    }

    const Runner& m_runner;
    const Plan& m_plan;
    const ScoredText& m_text;
    std::vector<Batch> m_batches;
    std::vector<ScoredBatch> m_scored;
    std::vector<WindowLoss> m_losses;
};

double totalNats(const Perplexity& run) {
    return std::accumulate(run.windows.begin(), run.windows.end(), 0.0,
                           [](double sum, const WindowLoss& window) { return sum + window.nats; });
}

} // namespace

double Perplexity::perplexity() const {
    return std::exp(lossNats);
}

double Perplexity::tokenLossNats() const {
    return totalNats(*this) / static_cast<double>(tokens);
}

std::int64_t Perplexity::words() const {
    return std::accumulate(pages.begin(), pages.end(), std::int64_t{0},
                           [](std::int64_t sum, const PageSize& page) { return sum + page.words; });
}

std::int64_t Perplexity::bytes() const {
    return std::accumulate(pages.begin(), pages.end(), std::int64_t{0},
                           [](std::int64_t sum, const PageSize& page) { return sum + page.bytes; });
}

double Perplexity::bytePerplexity() const {
    return std::exp(totalNats(*this) / static_cast<double>(bytes()));
}

double Perplexity::bitsPerByte() const {
    return totalNats(*this) / (static_cast<double>(bytes()) * std::log(2.0));
}

Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens,
                      const Progress& progress) {
    if (!model.has(-1, Which::readOut))
        throw Error("has no read-out (lm_head): no text can be scored", model.card().path);
    Perplexity run{text.rules, Scoring(model, plan, text).run(batchTokens, progress), text.pages, 0, 0, 0};
    model.checkFiles();
    for (std::size_t i = 0; i < run.windows.size(); ++i) {
        if (!std::isfinite(run.windows[i].nats))
            throw Error(
                fmt::format("predicts no finite probabilities: the loss of window {} is {}", i, run.windows[i].nats),
                model.card().path);
        run.tokens += run.windows[i].tokens;
    }
    const Estimate loss = ratio(sharesOf(run));
    run.lossNats = loss.mean;
    run.standardError = loss.standardError;
    return run;
}

LossDifference pairedDifference(const Perplexity& run, const Perplexity& reference) {
    PerplexityRules rules = reference.rules;
    rules.mostTokens = run.rules.mostTokens;
    if (run.rules != rules)
        throw Error(fmt::format("Losses by {} in windows of {} with BOS {} and by {} in windows of {} with BOS {} "
                                "cannot be compared",
                                name(run.rules.protocol), run.rules.window,
                                name(run.rules.bos.value_or(BosMode::tokenizerDefault)), name(reference.rules.protocol),
                                reference.rules.window, name(reference.rules.bos.value_or(BosMode::tokenizerDefault))));
    std::vector<Share> shares = sharesOf(run);
    const std::vector<Share> others = sharesOf(reference);
    shares.resize(std::min(shares.size(), others.size()));
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i].weight != others[i].weight)
            throw Error("Losses of two different texts cannot be compared");
        shares[i].nats -= others[i].nats;
    }
    const Estimate difference = ratio(shares);
    return {difference.mean, difference.standardError, shares.size()};
}

} // namespace secateur
