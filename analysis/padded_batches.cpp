#include "analysis/padded_batches.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace secateur {

std::int64_t PaddedBatches::tokens() const {
    std::int64_t sum = 0;
    for (const Batch& batch : batches)
        sum += batch.tokens();
    return sum;
}

PaddedBatches paddedBatches(std::span<const TokenSequence> sequences, std::int64_t batchTokens) {
    PaddedBatches all;
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return sequences[i].ids.size(); });
    for (const std::size_t index : order) {
        const TokenSequence& own = sequences[index];
        const bool isFull =
            all.batches.empty() || (all.batches.back().rows + 1) * all.batches.back().positions > batchTokens;
        if (isFull) {
            all.batches.push_back({0, static_cast<int>(own.ids.size()), {}, {}, {}, {}});
            all.sequences.emplace_back();
        }
        Batch& batch = all.batches.back();
        all.sequences.back().push_back(index);
        batch.lengths.push_back(static_cast<int>(own.ids.size()));
        ++batch.rows;
        const auto append = [&](std::vector<int>& to, const std::vector<int>& from) {
            to.insert(to.end(), from.begin(), from.end());
            to.resize(static_cast<std::size_t>(batch.tokens()), from.back());
        };
        append(batch.ids, own.ids);
        append(batch.types, own.types);
    }
    return all;
}

} // namespace secateur
