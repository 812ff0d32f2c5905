#include "analysis/evaluation/perplexity.h"

#include "analysis/base/bytes.h"
#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace secateur {

namespace {

void addBatch(ScoredBatches& all, const ScoredText& text, std::span<const std::size_t> windows, int positions) {
    Batch batch{static_cast<int>(windows.size()), positions, {}, {}, {}, {}};
    ScoredRows rows{{windows.begin(), windows.end()}, {}};
    for (const std::size_t index : windows) {
        const std::vector<int>& ids = text.windows.sequences[index].ids;
        const std::size_t rowEnd = batch.ids.size() + static_cast<std::size_t>(positions);
        batch.lengths.push_back(static_cast<int>(ids.size()) - 1);
        batch.ids.insert(batch.ids.end(), ids.begin(), ids.end() - 1);
        for (std::size_t next = 1; next < ids.size(); ++next)
            rows.targets.push_back(next >= text.firstScored[index] ? ids[next] : -1);
        batch.ids.resize(rowEnd, 0);
        rows.targets.resize(rowEnd, -1);
    }
    all.batches.push_back(std::move(batch));
    all.rows.push_back(std::move(rows));
}

/// The numbers 0 to count - 1 in a shuffled order that is the same on every machine.
std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(20240229);
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random() % i]);
    return order;
}

/// Groups of windows in shuffled order. For wordPpl, a group contains the windows of a page; for tokenPpl, a single
/// window.
std::vector<std::vector<std::size_t>> shuffledGroups(const ScoredText& text) {
    const std::size_t windows = text.windows.sequences.size();
    const bool byPage = text.rules.protocol == TextProtocol::wordPpl;
    std::vector<std::vector<std::size_t>> all(byPage ? text.pages.size() : windows);
    for (std::size_t i = 0; i < windows; ++i)
        all[byPage ? text.windows.sequences[i].document : i].push_back(i);
    std::vector<std::vector<std::size_t>> groups;
    for (const std::size_t group : shuffled(all.size()))
        groups.push_back(std::move(all[group]));
    return groups;
}

void closeBlock(ScoredBatches& all, const ScoredText& text, std::vector<std::size_t>& block, std::int64_t batchTokens) {
    if (block.empty())
        return;
    addBatches(all, text, block, batchTokens);
    all.blockEnds.push_back(all.batches.size());
    block.clear();
}

} // namespace

void addBatches(ScoredBatches& all, const ScoredText& text, std::span<const std::size_t> windows,
                std::int64_t batchTokens) {
    const auto inputs = [&](std::size_t window) { return text.windows.sequences[window].ids.size() - 1; };
    std::vector<std::size_t> order(windows.begin(), windows.end());
    std::ranges::stable_sort(order, std::ranges::greater(), inputs);
    for (std::size_t begin = 0; begin < order.size();) {
        const auto positions = static_cast<std::int64_t>(inputs(order[begin]));
        const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(1, batchTokens / positions));
        const std::size_t count = std::min(rows, order.size() - begin);
        addBatch(all, text, std::span(order).subspan(begin, count), static_cast<int>(positions));
        begin += count;
    }
}

ScoredBatches shuffledBatches(const ScoredText& text, std::int64_t batchTokens) {
    ScoredBatches all;
    std::vector<std::size_t> block;
    std::int64_t tokens = 0;
    for (const std::vector<std::size_t>& group : shuffledGroups(text)) {
        std::int64_t more = 0;
        for (const std::size_t window : group)
            more += static_cast<std::int64_t>(text.windows.sequences[window].ids.size()) - 1;
        if (tokens + more > batchTokens)
            closeBlock(all, text, block, batchTokens);
        tokens = block.empty() ? more : tokens + more;
        block.insert(block.end(), group.begin(), group.end());
    }
    closeBlock(all, text, block, batchTokens);
    return all;
}

std::vector<WindowLoss> rowLosses(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                  const ScoredRows& rows, const Progress& progress) {
    // Computed in chunks, so that a run can be cancelled quickly even if the vocabulary is large.
    constexpr std::size_t positionsAtOnce = 1024;
    std::vector<WindowLoss> losses;
    for (const std::size_t window : rows.windows)
        losses.push_back({0, 0, 0, window});
    for (std::size_t begin = 0; begin < rows.targets.size(); begin += positionsAtOnce) {
        progress.check();
        const std::size_t end = std::min(begin + positionsAtOnce, rows.targets.size());
        std::vector<int> targets(rows.targets.size(), -1);
        std::copy(rows.targets.begin() + static_cast<std::ptrdiff_t>(begin),
                  rows.targets.begin() + static_cast<std::ptrdiff_t>(end),
                  targets.begin() + static_cast<std::ptrdiff_t>(begin));
        const TokenLosses scored = model.runner().losses(plan, x, batch, targets);
        for (std::size_t i = begin; i < end; ++i)
            if (targets[i] >= 0) {
                WindowLoss& loss = losses[i / static_cast<std::size_t>(batch.positions)];
                loss.nats += scored.nats[i];
                ++loss.tokens;
            }
    }
    const auto bad = std::ranges::find_if(losses, [](const WindowLoss& loss) { return !std::isfinite(loss.nats); });
    if (bad == losses.end())
        return losses;
    model.checkFiles(); // if a file was truncated, this throws the more useful error
    const std::string cause = notFiniteText(model, plan, {&batch, 1}, progress);
    throw Error(fmt::format("predicts no finite probabilities: the loss of window {} is {}{}{}", bad->index, bad->nats,
                            cause.empty() ? "" : "; ", cause),
                model.card().path);
}

namespace {

/// The loss of a window or of a page.
struct LossShare {
    double nats = 0;
    double weight = 0;     ///< number of predicted tokens or words
    std::size_t index = 0; ///< index of the window or page in the text
};

/// The losses of the windows (wordPpl: pages), in the order of the text.
std::vector<LossShare> sharesOf(const Perplexity& run) {
    std::vector<LossShare> shares;
    if (run.rules.protocol == TextProtocol::tokenPpl) {
        for (const WindowLoss& window : run.windows)
            shares.push_back({window.nats, static_cast<double>(window.tokens), window.index});
        return shares;
    }
    for (const PageSize& page : run.pages)
        shares.push_back({0, static_cast<double>(page.words), page.index});
    for (const WindowLoss& window : run.windows)
        shares[window.page].nats += window.nats;
    return shares;
}

struct MeanWithError {
    double mean = 0;
    double standardError = 0;
};

/// The sum of losses divided by the sum of weights, with the standard error of this ratio. If all weights are equal,
/// this is the standard error of a mean.
MeanWithError ratio(const std::vector<LossShare>& shares) {
    double nats = 0;
    double weight = 0;
    for (const LossShare& share : shares) {
        nats += share.nats;
        weight += share.weight;
    }
    const double mean = nats / weight;
    const auto count = static_cast<double>(shares.size());
    double squares = 0;
    for (const LossShare& share : shares)
        squares += (share.nats - mean * share.weight) * (share.nats - mean * share.weight);
    const double error = shares.size() < 2 ? std::numeric_limits<double>::quiet_NaN()
                                           : std::sqrt(squares * count / (count - 1)) / weight;
    return {mean, error};
}

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

double LossDifference::halfWidth95() const {
    return studentQuantile(count - 1) * standardError;
}

Perplexity perplexityOf(const ScoredText& text, const std::vector<WindowLoss>& losses) {
    const auto pageOf = [&](std::size_t window) { return text.windows.sequences[window].document; };
    std::vector<bool> isWhole(text.pages.size(), true);
    Perplexity run{text.rules, {}, {}, 0, 0, 0};
    if (text.rules.protocol == TextProtocol::wordPpl)
        for (std::size_t i = 0; i < losses.size(); ++i)
            isWhole[pageOf(i)] = isWhole[pageOf(i)] && losses[i].tokens > 0;
    std::vector<std::size_t> places(text.pages.size());
    for (std::size_t page = 0; page < text.pages.size(); ++page) {
        places[page] = run.pages.size();
        if (isWhole[page])
            run.pages.push_back(text.pages[page]);
    }
    for (std::size_t i = 0; i < losses.size(); ++i) {
        WindowLoss window = losses[i];
        if (window.tokens == 0 || (!places.empty() && !isWhole[pageOf(i)]))
            continue;
        window.page = places.empty() ? 0 : places[pageOf(i)];
        run.windows.push_back(window);
    }
    return perplexityOf(run.rules, std::move(run.windows), std::move(run.pages));
}

Perplexity perplexityOf(const PerplexityRules& rules, std::vector<WindowLoss> windows, std::vector<PageSize> pages) {
    Perplexity run{rules, std::move(windows), std::move(pages), 0, 0, 0};
    for (const WindowLoss& window : run.windows)
        run.tokens += window.tokens;
    const MeanWithError loss = ratio(sharesOf(run));
    run.lossNats = loss.mean;
    run.standardError = loss.standardError;
    return run;
}

Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens,
                      const Progress& progress, const Cluster* cluster) {
    if (!model.has(-1, WeightName::lmHead))
        throw Error("has no LM head: texts cannot be scored", model.card().path);
    std::vector<std::size_t> windows(text.windows.sequences.size());
    std::iota(windows.begin(), windows.end(), std::size_t{0});
    ScoredBatches all;
    addBatches(all, text, windows, fittingTokens(model, batchTokens));
    std::vector<WindowLoss> losses(windows.size());
    const auto keep = [&](const std::vector<WindowLoss>& some) {
        for (const WindowLoss& loss : some)
            losses[loss.index] = loss;
    };
    const auto score = [&](std::size_t first, std::size_t count, const auto& take, const Progress& part) {
        LayerWalk walk;
        walk.finished = [&](std::size_t i, const at::Tensor& x) {
            take(rowLosses(model, plan, x, all.batches[first + i], all.rows[first + i], part));
        };
        forEachLayer(model.runner(), plan, std::span(all.batches).subspan(first, count), walk, part);
    };
    if (cluster) {
        const auto run = [&](std::size_t first, std::size_t count, const Progress& part) {
            std::vector<std::string> bytes;
            score(
                first, count, [&](const std::vector<WindowLoss>& some) { bytes.push_back(packed(some)); }, part);
            return bytes;
        };
        const auto take = [&](std::size_t, std::string_view bytes) { keep(unpacked<std::vector<WindowLoss>>(bytes)); };
        shareBatches(*cluster, all.batches.size(), plan.isResident(), run, take, progress);
        losses = unpacked<std::vector<WindowLoss>>(cluster->broadcast(packed(losses)));
    } else {
        score(0, all.batches.size(), keep, progress);
    }
    model.checkFiles();
    progress.report(1, "done");
    return perplexityOf(text, losses);
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
    const std::vector<LossShare> others = sharesOf(reference);
    auto other = others.begin();
    std::vector<LossShare> common;
    for (const LossShare& share : sharesOf(run)) {
        other = std::find_if(other, others.end(), [&](const LossShare& later) { return later.index >= share.index; });
        if (other == others.end() || other->index != share.index)
            continue;
        if (share.weight != other->weight)
            throw Error("Losses of two different texts cannot be compared");
        common.push_back({share.nats - other->nats, share.weight, share.index});
    }
    if (common.empty())
        throw Error("Losses without a common window cannot be compared");
    const MeanWithError difference = ratio(common);
    return {difference.mean, difference.standardError, common.size()};
}

} // namespace secateur
