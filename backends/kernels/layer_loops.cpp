#include "backends/kernels/layer_loops.h"

#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace secateur {

namespace {

Destination destinationOf(const at::Tensor& out) {
    if (out.scalar_type() == at::kBFloat16)
        return {nullptr, static_cast<std::uint16_t*>(out.data_ptr())};
    return {out.data_ptr<float>(), nullptr};
}

void normAll(const at::Tensor& x, const float* added, float* sum, const NormValues& norm, const at::Tensor& out) {
    const std::int64_t width = x.size(-1);
    const auto* values = x.data_ptr<float>();
    const Destination target = destinationOf(out);
    const VectorLoops& loops = vectorLoops();
    forEachRow(width > 0 ? x.numel() / width : 0, width, [&](std::int64_t row) {
        const std::int64_t place = row * width;
        loops.norm(values + place, added ? added + place : nullptr, sum ? sum + place : nullptr, norm, width,
                   target.behind(place));
    });
}

/// Normalises and rotates the query and key heads of one position, and writes all heads to their places.
class HeadPlacer {
public:
    HeadPlacer(const AttentionShape& shape, const NormValues& queryNorm, const NormValues& keyNorm,
               const RotaryTables& rotary, std::int64_t positions, float* queries, const KeyValueViews& keysAndValues)
        : m_shape(shape)
        , m_queryNorm(queryNorm)
        , m_keyNorm(keyNorm)
        , m_rotary(rotary)
        , m_positions(positions)
        , m_queries(queries)
        , m_keysAndValues(keysAndValues) {}

    void place(const float* from, std::int64_t row, std::int64_t position, std::int64_t first) const {
        const std::int64_t size = m_shape.headDim;
        const std::int64_t at = first + position;
        for (std::int64_t head = 0; head < m_shape.heads; ++head, from += size)
            rotate(from, m_queryNorm, at, m_queries + ((row * m_shape.heads + head) * m_positions + position) * size);
        const auto cached = [&](const Destination& all, std::int64_t head) {
            return all.behind(((row * m_shape.kvHeads + head) * m_keysAndValues.capacity + at) * size);
        };
        for (std::int64_t head = 0; head < m_shape.kvHeads; ++head, from += size)
            placeKey(from, at, cached(m_keysAndValues.keys, head));
        for (std::int64_t head = 0; head < m_shape.kvHeads; ++head, from += size)
            m_loops.write(from, size, cached(m_keysAndValues.values, head));
    }

private:
    void placeKey(const float* from, std::int64_t at, const Destination& to) const {
        if (to.floats)
            return rotate(from, m_keyNorm, at, to.floats);
        thread_local std::vector<float> key;
        key.resize(static_cast<std::size_t>(m_shape.headDim));
        rotate(from, m_keyNorm, at, key.data());
        m_loops.write(key.data(), m_shape.headDim, to);
    }

    /// Normalises a head, if there is a norm, and rotates it by the angles of position `at`.
    void rotate(const float* from, const NormValues& norm, std::int64_t at, float* to) const {
        if (norm.weight)
            m_loops.norm(from, nullptr, nullptr, norm, m_shape.headDim, {to, nullptr});
        else
            std::copy_n(from, m_shape.headDim, to);
        const std::int64_t pairs = m_rotary.dims / 2;
        if (pairs > 0)
            m_loops.rotate(m_rotary.cosines + at * pairs, m_rotary.sines + at * pairs, m_rotary.dims, to);
    }

    const VectorLoops& m_loops = vectorLoops();
    const AttentionShape& m_shape;
    const NormValues& m_queryNorm;
    const NormValues& m_keyNorm;
    const RotaryTables& m_rotary;
    std::int64_t m_positions;
    float* m_queries;
    const KeyValueViews& m_keysAndValues;
};

struct TokenLoss {
    float loss = 0;
    bool isGreedy = false;
};

TokenLoss tokenLoss(const float* logits, std::int64_t vocab, std::int64_t target, float softcap) {
    const ExponentialSum all = vectorLoops().sumExponentials(logits, vocab, target, softcap);
    const float wanted = logits[target];
    const double loss =
        std::log(all.sum) + (static_cast<double>(all.largestCapped) - static_cast<double>(all.targetCapped));
    const bool isLargest = wanted == all.largest && !std::isnan(loss) && target / logitBlock == all.blockOfLargest;
    const float* block = logits + all.blockOfLargest * logitBlock;
    return {static_cast<float>(loss), isLargest && std::find(block, logits + target, wanted) == logits + target};
}

} // namespace

KeyValueViews::KeyValueViews(const at::Tensor& allKeys, const at::Tensor& allValues)
    : keys(destinationOf(allKeys))
    , values(destinationOf(allValues))
    , capacity(allKeys.size(2)) {}

void normRows(const at::Tensor& x, const NormValues& norm, const at::Tensor& out) {
    normAll(x, nullptr, nullptr, norm, out);
}

void addAndNormRows(const at::Tensor& x, const at::Tensor& added, const at::Tensor& sum, const NormValues& norm,
                    const at::Tensor& out) {
    normAll(x, added.data_ptr<float>(), sum.data_ptr<float>(), norm, out);
}

void placeHeads(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> first,
                std::span<const int> lengths, const at::Tensor& queries, const KeyValueViews& keysAndValues) {
    const std::int64_t positions = projected.size(1);
    const std::int64_t width = projected.size(2);
    const auto* from = projected.data_ptr<float>();
    const HeadPlacer placer(shape, queryNorm, keyNorm, rotary, positions, queries.data_ptr<float>(), keysAndValues);
    forEachRow(projected.size(0) * positions, width, [&](std::int64_t place) {
        const auto row = static_cast<std::size_t>(place / positions);
        const std::int64_t position = place % positions;
        if (position < lengths[row])
            placer.place(from + place * width, place / positions, position, first[row]);
    });
}

void activateRows(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& hidden) {
    const std::int64_t width = hidden.size(-1);
    const std::int64_t stride = gated ? 2 * width : width;
    const auto* values = projected.data_ptr<float>();
    const Destination target = destinationOf(hidden);
    const VectorLoops& loops = vectorLoops();
    forEachRow(width > 0 ? hidden.numel() / width : 0, stride, [&](std::int64_t row) {
        const float* from = values + row * stride;
        loops.activate(gated ? from : nullptr, gated ? from + width : from, activation, width,
                       target.behind(row * width));
    });
}

void crossEntropyRows(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) {
    const std::int64_t vocab = logits.size(1);
    const auto* values = logits.data_ptr<float>();
    forEachRow(logits.size(0), vocab, [&](std::int64_t row) {
        const auto i = static_cast<std::size_t>(row);
        const TokenLoss token =
            targets[i] < 0 ? TokenLoss() : tokenLoss(values + row * vocab, vocab, targets[i], softcap);
        losses[i] = token.loss;
        greedy[i] = token.isGreedy;
    });
}

} // namespace secateur
