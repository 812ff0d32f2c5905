#include "analysis/evaluation/scored_batches.h"

#include "analysis/base/error.h"
#include "analysis/running/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

/// 0 to count - 1, shuffled alike on every machine.
std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(20240229);
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random() % i]);
    return order;
}

/// Windows that are read together, in the order of the walk: of wordPpl those of a page.
std::vector<std::vector<std::size_t>> unitsOf(const ScoredText& text) {
    const std::size_t windows = text.windows.sequences.size();
    const bool byPage = text.rules.protocol == TextProtocol::wordPpl;
    std::vector<std::vector<std::size_t>> all(byPage ? text.pages.size() : windows);
    for (std::size_t i = 0; i < windows; ++i)
        all[byPage ? text.windows.sequences[i].document : i].push_back(i);
    std::vector<std::vector<std::size_t>> units;
    for (const std::size_t unit : shuffled(all.size()))
        units.push_back(std::move(all[unit]));
    return units;
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
    for (const std::vector<std::size_t>& unit : unitsOf(text)) {
        std::int64_t more = 0;
        for (const std::size_t window : unit)
            more += static_cast<std::int64_t>(text.windows.sequences[window].ids.size()) - 1;
        if (tokens + more > batchTokens)
            closeBlock(all, text, block, batchTokens);
        tokens = block.empty() ? more : tokens + more;
        block.insert(block.end(), unit.begin(), unit.end());
    }
    closeBlock(all, text, block, batchTokens);
    return all;
}

std::vector<WindowLoss> rowLosses(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch,
                                  const ScoredRows& rows, const Progress& progress) {
    // A part of the positions at a time, so that a stop is heard between them: a large vocabulary takes long.
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
    model.checkFiles(); // a file that was cut short is the better reason
    throw Error(fmt::format("predicts no finite probabilities: the loss of window {} is {}", bad->index, bad->nats),
                model.card().path);
}

} // namespace secateur
