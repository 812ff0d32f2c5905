#include "backends/engine/embedding_and_head.h"

#include "analysis/base/error.h"
#include "backends/kernels/layer_loops.h"
#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace secateur {

namespace {

/// Calls index(row, position) for each token of the batch. Positions after the end of a row get `padding`.
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

/// Positions with a target, and the targets.
struct Wanted {
    explicit Wanted(std::span<const int> all) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i] >= 0) {
                positions.push_back(static_cast<std::int64_t>(i));
                targets.push_back(all[i]);
            }
    }
    at::Tensor rows(const at::Tensor& x, std::size_t begin, std::size_t count) const {
        return x.index_select(0, at::tensor(at::ArrayRef(positions).slice(begin, count)).to(x.device()));
    }
    std::vector<std::int64_t> positions;
    std::vector<int> targets;
};

at::Tensor softcapped(const at::Tensor& logits, double cap) {
    return cap == 0 ? logits : (logits / cap).tanh() * cap;
}

/// KL(p || q) of each row. @param logP [rows, count + 1], the last that of all other tokens @param logQ [rows, count]
at::Tensor divergenceOf(const at::Tensor& logP, const at::Tensor& logQ) {
    constexpr double least = 1e-12; // of the probability of all other tokens, which may be 0 by rounding
    const at::Tensor q = logQ.to(at::kDouble);
    const at::Tensor others = (1 - q.exp().sum(1, true)).clamp_min(least).log();
    const at::Tensor p = logP.to(at::kDouble);
    const at::Tensor terms = p.exp() * (p - at::cat({q, others}, 1));
    return at::where(p.isinf(), at::zeros_like(terms), terms).sum(1).clamp_min(0); // 0 log 0 = 0
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
        throw Error(fmt::format(
            "Malformed batch of {} rows and {} positions: {} tokens, {} lengths and {} first positions", batch.rows,
            batch.positions, batch.ids.size(), batch.lengths.size(), batch.firstPosition.size()));
}

at::Tensor embedBatch(const Model& model, const EmbeddingAndHead& weights, const LayerMath& math, const Batch& batch,
                      const at::Device& device) {
    const ModelSpec& spec = model.spec();
    const auto at = [&](int row, int position) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(batch.positions) +
               static_cast<std::size_t>(position);
    };
    const auto tokens = perToken(batch, 0, [&](int row, int position) { return batch.ids[at(row, position)]; });
    checkRange(tokens, spec.vocab, "token", model.card().path);
    at::Tensor x = weights.tokenEmbedding.defined() ? chosen(weights.tokenEmbedding, tokens)
                                                    : model.rows(-1, WeightName::embedding, tokens).to(device);
    x = x.to(at::kFloat);
    if (spec.embeddingScale != 1)
        x = x * spec.embeddingScale;
    if (spec.positions == Positions::learned) {
        const auto positions = perToken(batch, spec.firstPosition, [&](int row, int position) {
            return spec.firstPosition + batch.first(row) + position;
        });
        checkRange(positions, spec.learnedPositions, "position", model.card().path);
        x = x + chosen(weights.positionEmbedding, positions);
    }
    if (spec.tokenTypes > 0) {
        const auto types = perToken(
            batch, 0, [&](int row, int position) { return batch.types.empty() ? 0 : batch.types[at(row, position)]; });
        checkRange(types, spec.tokenTypes, "token type", model.card().path);
        x = x + chosen(weights.typeEmbedding, types);
    }
    if (weights.embeddingNorm)
        x = math.normalisedStream(weights.embeddingNorm, x.contiguous());
    if (weights.embeddingProjection.out > 0)
        x = math.linear(weights.embeddingProjection, math.forProduct(x));
    return x.contiguous();
}

at::Tensor OutputHead::headInput(const at::Tensor& x) const {
    return m_weights.finalNorm ? m_math.normalised(m_weights.finalNorm, x) : m_math.forProduct(x);
}

at::Tensor OutputHead::rawLogits(const at::Tensor& x) const {
    return m_math.linear(m_weights.lmHead, headInput(x));
}

at::Tensor OutputHead::logits(const at::Tensor& x) const {
    return softcapped(rawLogits(x), m_spec.logitSoftcap);
}

at::Tensor OutputHead::pooled(const at::Tensor& first) const {
    return m_weights.pooler.out > 0 ? m_math.linear(m_weights.pooler, m_math.forProduct(first)).tanh() : first;
}

at::Tensor OutputHead::classes(const at::Tensor& first) const {
    if (m_weights.classifier.out == 0)
        return pooled(first);
    const at::Tensor dense = m_weights.classifierDense.out > 0
                                 ? m_math.linear(m_weights.classifierDense, m_math.forProduct(first)).tanh()
                                 : pooled(first);
    return m_math.linear(m_weights.classifier, m_math.forProduct(dense));
}

TokenLosses OutputHead::losses(const at::Tensor& x, std::span<const int> targets) const {
    const Wanted wanted(targets);
    const std::vector<std::int64_t>& positions = wanted.positions;
    std::vector<float> nats(positions.size());
    std::vector<std::uint8_t> greedy(positions.size());
    constexpr std::size_t mostWithoutLogits = 1024; // limits what is kept of each row and block of the vocabulary
    const auto step = m_math.keepsLogits(m_weights.lmHead)
                          ? static_cast<std::size_t>(rowsAtOnce(m_spec.vocab, x.device().is_cpu()))
                          : mostWithoutLogits;
    for (std::size_t begin = 0; begin < positions.size(); begin += step) {
        const std::size_t count = std::min(step, positions.size() - begin);
        m_math.headCrossEntropy(m_weights.lmHead, headInput(wanted.rows(x, begin, count)),
                                std::span(wanted.targets).subspan(begin, count),
                                static_cast<float>(m_spec.logitSoftcap), std::span(nats).subspan(begin, count),
                                std::span(greedy).subspan(begin, count));
    }
    TokenLosses losses{std::vector<float>(targets.size()), std::vector<std::uint8_t>(targets.size())};
    for (std::size_t i = 0; i < positions.size(); ++i) {
        losses.nats[static_cast<std::size_t>(positions[i])] = nats[i];
        losses.greedy[static_cast<std::size_t>(positions[i])] = greedy[i];
    }
    return losses;
}

TopTokens OutputHead::topTokens(const at::Tensor& x, std::span<const int> targets, int count) const {
    const Wanted wanted(targets);
    const std::vector<std::int64_t>& positions = wanted.positions;
    TopTokens found;
    found.count = std::min(count, m_spec.vocab);
    const auto append = [](auto& to, const at::Tensor& values) {
        using Value = typename std::decay_t<decltype(to)>::value_type;
        const at::Tensor own = values.to(at::kCPU, c10::CppTypeToScalarType<Value>::value).contiguous();
        to.insert(to.end(), own.data_ptr<Value>(), own.data_ptr<Value>() + own.numel());
    };
    const auto step = static_cast<std::size_t>(rowsAtOnce(m_spec.vocab, x.device().is_cpu()));
    for (std::size_t begin = 0; begin < positions.size(); begin += step) {
        const std::size_t rows = std::min(step, positions.size() - begin);
        at::Tensor all = logits(wanted.rows(x, begin, rows));
        const at::Tensor sum = all.logsumexp(1, true);
        const auto [values, tokens] = all.topk(found.count, 1);
        const at::Tensor others = all.scatter_(1, tokens, -std::numeric_limits<double>::infinity()).logsumexp(1, true);
        append(found.tokens, tokens);
        append(found.logProbabilities, at::cat({values, others}, 1) - sum);
    }
    return found;
}

// The loss at the target is log(sum exp) minus the target's logit, and is computed fast for the whole vocabulary.
DenseComparison OutputHead::comparison(const at::Tensor& x, std::span<const int> targets,
                                       const TopTokens& dense) const {
    const Wanted wanted(targets);
    const auto all = static_cast<std::int64_t>(wanted.targets.size());
    if (dense.count < 1 || std::ssize(dense.tokens) != all * dense.count ||
        std::ssize(dense.logProbabilities) != all * (dense.count + 1))
        throw Error(fmt::format("The probabilities of the dense model do not fit {} targets", all));
    const at::Tensor tokens = at::tensor(dense.tokens, at::kLong).view({all, dense.count});
    const at::Tensor logP = at::tensor(dense.logProbabilities, at::kFloat).view({all, dense.count + 1});
    DenseComparison found;
    const std::int64_t step = rowsAtOnce(m_spec.vocab, x.device().is_cpu());
    for (std::int64_t begin = 0; begin < all; begin += step) {
        const std::int64_t count = std::min(step, all - begin);
        const auto size = static_cast<std::size_t>(count);
        const auto own = std::span(wanted.targets).subspan(static_cast<std::size_t>(begin), size);
        const at::Tensor raw = rawLogits(wanted.rows(x, static_cast<std::size_t>(begin), size));
        const at::Tensor target = at::tensor(at::ArrayRef(own.data(), own.size()), at::kLong).to(raw.device());
        const at::Tensor places = at::cat({tokens.narrow(0, begin, count).to(raw.device()), target.unsqueeze(1)}, 1);
        const at::Tensor chosen = softcapped(raw.gather(1, places).to(at::kFloat), m_spec.logitSoftcap);
        std::vector<float> nats(size);
        std::vector<std::uint8_t> greedy(size);
        m_math.crossEntropy(raw, own, static_cast<float>(m_spec.logitSoftcap), nats, greedy);
        const at::Tensor sum =
            at::tensor(nats).to(raw.device()).unsqueeze(1) + chosen.narrow(1, dense.count, 1); // log(sum exp)
        const at::Tensor rows =
            divergenceOf(logP.narrow(0, begin, count).to(raw.device()), chosen.narrow(1, 0, dense.count) - sum)
                .to(at::kCPU, at::kFloat)
                .contiguous();
        found.nats.insert(found.nats.end(), nats.begin(), nats.end());
        found.divergence.insert(found.divergence.end(), rows.data_ptr<float>(), rows.data_ptr<float>() + count);
    }
    return found;
}

std::int64_t rowsAtOnce(std::int64_t vocab, bool isProcessor) {
    const std::int64_t mostLogits = isProcessor ? 1 << 24 : 1 << 28;
    const std::int64_t mostRows = isProcessor ? 1024 : 16384;
    constexpr std::int64_t wholeBlocks = 128; // matrix products are fastest for multiples of this number
    const std::int64_t rows = std::clamp<std::int64_t>(mostLogits / std::max<std::int64_t>(1, vocab), 16, mostRows);
    return rows > wholeBlocks ? rows / wholeBlocks * wholeBlocks : rows;
}

} // namespace secateur
