#include "backends/engine/embedding.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

/// One index per token of the batch; those of padding are `padding`.
template <typename Index>
std::vector<std::int64_t> perToken(const Batch& batch, std::int64_t padding, Index index) {
    std::vector<std::int64_t> all;
    all.reserve(static_cast<std::size_t>(batch.tokens()));
    for (int row = 0; row < batch.rows; ++row)
        for (int position = 0; position < batch.positions; ++position)
            all.push_back(position < batch.length(row) ? index(row, position) : padding);
    return all;
}

void checkRange(const std::vector<std::int64_t>& indices, std::int64_t size, const char* what,
                const std::string& path) {
    const auto wrong = std::ranges::find_if(indices, [&](std::int64_t index) { return index < 0 || index >= size; });
    if (wrong != indices.end())
        throw Error(fmt::format("has no {} {}: it has {} of them", what, *wrong, size), path);
}

at::Tensor chosen(const at::Tensor& table, const std::vector<std::int64_t>& indices) {
    return table.index_select(0, at::tensor(indices).to(table.device()));
}

} // namespace

void checkBatch(const Batch& batch) {
    const auto tokens = static_cast<std::size_t>(batch.tokens());
    const auto rows = static_cast<std::size_t>(batch.rows);
    const auto fits = [](std::size_t size, std::size_t expected) { return size == 0 || size == expected; };
    const auto isLength = [&](int length) { return length >= 1 && length <= batch.positions; };
    if (batch.rows < 1 || batch.positions < 1 || batch.ids.size() != tokens || !fits(batch.types.size(), tokens) ||
        !fits(batch.lengths.size(), rows) || !fits(batch.firstPosition.size(), rows) ||
        !std::ranges::all_of(batch.lengths, isLength) ||
        !std::ranges::all_of(batch.firstPosition, [](int first) { return first >= 0; }))
        throw Error(fmt::format("A batch of {} rows and {} positions does not go with its {} tokens, {} lengths and {} "
                                "first positions",
                                batch.rows, batch.positions, batch.ids.size(), batch.lengths.size(),
                                batch.firstPosition.size()));
}

at::Tensor embedBatch(const Model& model, const PlanEnds& ends, const LayerMath& math, const Batch& batch,
                      const at::Device& device) {
    const ModelSpec& spec = model.spec();
    const auto at = [&](int row, int position) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(batch.positions) +
               static_cast<std::size_t>(position);
    };
    const auto tokens = perToken(batch, 0, [&](int row, int position) { return batch.ids[at(row, position)]; });
    checkRange(tokens, spec.vocab, "token", model.card().path);
    at::Tensor x = model.rows(-1, WeightName::embedding, tokens).to(device, at::kFloat);
    if (spec.embeddingScale != 1)
        x = x * spec.embeddingScale;
    if (spec.positions == Positions::learned) {
        const auto positions = perToken(batch, spec.firstPosition, [&](int row, int position) {
            return spec.firstPosition + batch.first(row) + position;
        });
        checkRange(positions, spec.learnedPositions, "position", model.card().path);
        x = x + chosen(ends.positionEmbedding, positions);
    }
    if (spec.tokenTypes > 0) {
        const auto types = perToken(
            batch, 0, [&](int row, int position) { return batch.types.empty() ? 0 : batch.types[at(row, position)]; });
        checkRange(types, spec.tokenTypes, "token type", model.card().path);
        x = x + chosen(ends.typeEmbedding, types);
    }
    if (ends.embeddingNorm)
        x = math.normedStream(ends.embeddingNorm, x.contiguous());
    if (ends.embeddingProjection.out > 0)
        x = math.linear(ends.embeddingProjection, math.forProduct(x));
    return x.contiguous();
}

} // namespace secateur
