#include "analysis/running/padded_batches.h"

#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace secateur {

std::int64_t PaddedBatches::tokens() const {
    std::int64_t sum = 0;
    for (const Batch& batch : batches)
        sum += batch.tokens();
    return sum;
}

namespace {

void addBatch(std::span<const TokenSequence> sequences, std::span<const std::size_t> rows, PaddedBatches& all) {
    Batch batch;
    for (const std::size_t row : rows)
        batch.positions = std::max(batch.positions, static_cast<int>(sequences[row].ids.size()));
    for (const std::size_t row : rows) {
        const TokenSequence& own = sequences[row];
        batch.lengths.push_back(static_cast<int>(own.ids.size()));
        ++batch.rows;
        const auto append = [&](std::vector<int>& to, const std::vector<int>& from) {
            to.insert(to.end(), from.begin(), from.end());
            to.resize(static_cast<std::size_t>(batch.tokens()), from.back());
        };
        append(batch.ids, own.ids);
        append(batch.types, own.types);
    }
    all.batches.push_back(std::move(batch));
    all.sequences.emplace_back(rows.begin(), rows.end());
}

} // namespace

PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens) {
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto length = [&](std::size_t i) { return std::ssize(sequences[i].ids); };
    std::ranges::stable_sort(order, std::greater<>(), length);
    PaddedBatches all;
    for (std::size_t begin = 0; begin < order.size();) {
        const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, batchTokens / length(order[begin])));
        const std::size_t count = std::min(most, order.size() - begin);
        addBatch(sequences, std::span(order).subspan(begin, count), all);
        begin += count;
    }
    return all;
}

std::int64_t fittingTokens(const Model& model, std::int64_t batchTokens) {
    constexpr std::int64_t fewest = 128;
    constexpr std::array taps{Tap::context, Tap::attentionOutput, Tap::mlpHidden, Tap::mlpOutput};
    const Runner& runner = model.runner();
    const std::int64_t limit = runner.freeBytes();
    if (limit == std::numeric_limits<std::int64_t>::max())
        return batchTokens;
    Batch batch;
    batch.rows = 1;
    batch.positions = fewest;
    std::int64_t largest = 0;
    for (int layer = 0; layer < model.spec().layerCount(); ++layer)
        largest = std::max(largest, runner.recordedBytes(layer, batch, taps));
    while (batchTokens > fewest && batchTokens * largest > limit / 2 * fewest)
        batchTokens /= 2;
    return batchTokens;
}

PaddedBatches paddedBatches(const Model& model, std::span<const TokenSequence> sequences, std::int64_t batchTokens) {
    return paddedBatches(sequences, fittingTokens(model, batchTokens));
}

PaddedBatches batchesInOrder(std::span<const TokenSequence> sequences, int rows) {
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    PaddedBatches all;
    for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(rows))
        addBatch(sequences,
                 std::span(order).subspan(begin, std::min(static_cast<std::size_t>(rows), order.size() - begin)), all);
    return all;
}

} // namespace secateur
