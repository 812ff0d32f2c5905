#include "backends/engine/lm_head.h"

#include "backends/kernels/layer_loops.h"
#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

at::Tensor LmHead::rawLogits(const at::Tensor& x) const {
    const at::Tensor read = m_ends.finalNorm ? m_math.normed(m_ends.finalNorm, x) : m_math.forProduct(x);
    return m_math.linear(m_ends.lmHead, read);
}

at::Tensor LmHead::logits(const at::Tensor& x) const {
    const at::Tensor raw = rawLogits(x);
    const double cap = m_spec.logitSoftcap;
    return cap == 0 ? raw : (raw / cap).tanh() * cap;
}

at::Tensor LmHead::pooled(const at::Tensor& first) const {
    return m_ends.pooler.out > 0 ? m_math.linear(m_ends.pooler, m_math.forProduct(first)).tanh() : first;
}

at::Tensor LmHead::classes(const at::Tensor& first) const {
    if (m_ends.classifier.out == 0)
        return pooled(first);
    const at::Tensor dense = m_ends.classifierDense.out > 0
                                 ? m_math.linear(m_ends.classifierDense, m_math.forProduct(first)).tanh()
                                 : pooled(first);
    return m_math.linear(m_ends.classifier, m_math.forProduct(dense));
}

TokenLosses LmHead::losses(const at::Tensor& x, std::span<const int> targets) const {
    std::vector<std::int64_t> positions;
    std::vector<int> wanted;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] < 0)
            continue;
        positions.push_back(static_cast<std::int64_t>(i));
        wanted.push_back(targets[i]);
    }
    std::vector<float> nats(wanted.size());
    std::vector<std::uint8_t> greedy(wanted.size());
    const auto step = static_cast<std::size_t>(rowsAtOnce(m_spec.vocab));
    for (std::size_t begin = 0; begin < wanted.size(); begin += step) {
        const std::size_t count = std::min(step, wanted.size() - begin);
        const at::Tensor chosen = at::tensor(at::ArrayRef(positions).slice(begin, count)).to(x.device());
        const at::Tensor raw = rawLogits(x.index_select(0, chosen));
        m_math.crossEntropy(raw, std::span(wanted).subspan(begin, count), static_cast<float>(m_spec.logitSoftcap),
                            std::span(nats).subspan(begin, count), std::span(greedy).subspan(begin, count));
    }
    TokenLosses losses{std::vector<float>(targets.size()), std::vector<std::uint8_t>(targets.size())};
    for (std::size_t i = 0; i < positions.size(); ++i) {
        losses.nats[static_cast<std::size_t>(positions[i])] = nats[i];
        losses.greedy[static_cast<std::size_t>(positions[i])] = greedy[i];
    }
    return losses;
}

std::int64_t rowsAtOnce(std::int64_t vocab) {
    constexpr std::int64_t mostLogits = 1 << 24;
    constexpr std::int64_t wholeBlocks = 128; // by which products go
    const std::int64_t rows = std::clamp<std::int64_t>(mostLogits / std::max<std::int64_t>(1, vocab), 16, 1024);
    return rows > wholeBlocks ? rows / wholeBlocks * wholeBlocks : rows;
}

} // namespace secateur
