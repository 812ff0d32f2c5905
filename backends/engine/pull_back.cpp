#include "backends/engine/pull_back.h"

#include "analysis/error.h"
#include "backends/engine/layer_pass.h"
#include "backends/engine/read_out.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace secateur {

namespace {

/// Keeps the tensors that gradients are wanted of.
class TapKeeper : public Watch {
public:
    explicit TapKeeper(std::span<const Tap> wanted)
        : m_wanted(wanted) {}

    bool wants(Tap tap) const override { return std::ranges::find(m_wanted, tap) != m_wanted.end(); }
    void see(Tap tap, const at::Tensor& values) override { m_seen.insert_or_assign(tap, values); }

    const std::map<Tap, at::Tensor>& seen() const { return m_seen; }

private:
    std::span<const Tap> m_wanted;
    std::map<Tap, at::Tensor> m_seen;
};

/// [tokens, ...] or as it is -> [rows, positions, heads, headDim] or [rows, positions, width].
at::Tensor shaped(const at::Tensor& values, Tap tap, const AttentionInput& input) {
    if (!values.defined())
        return values;
    const bool byHead = tap == Tap::query || tap == Tap::key || tap == Tap::value || tap == Tap::context;
    if (byHead)
        return values.reshape({input.rows, input.positions, -1, input.layer.spec.headDim});
    return values.reshape({input.rows, input.positions, -1});
}

} // namespace

LayerGradients pullBackThrough(const LayerMath& math, const AttentionInput& input, const at::Tensor& x,
                               const at::Tensor& dOutput, std::span<const Tap> wanted) {
    const c10::AutoGradMode recording(true);
    const at::Tensor leaf = x.detach().requires_grad_(true);
    TapKeeper keeper(wanted);
    const at::Tensor out = LayerPass(math, input, keeper).run(leaf);
    std::vector<at::Tensor> asked{leaf};
    for (const auto& [tap, values] : keeper.seen())
        asked.push_back(values);
    const auto gradients = torch::autograd::grad({out}, asked, {dOutput.reshape(out.sizes())}, {}, false, true);
    LayerGradients result;
    result.input = shaped(gradients.front(), Tap::input, input);
    std::size_t next = 1;
    for (const auto& [tap, values] : keeper.seen())
        result.taps[tap] = TapGradient{shaped(values.detach(), tap, input), shaped(gradients[next++], tap, input)};
    return result;
}

namespace {

/// The scalars of a batch and the gradient of their sum with respect to the stream.
class LossGradients {
public:
    LossGradients(const LayerMath& math, const ModelSpec& spec, const PlanEnds& ends, const at::Tensor& x,
                  const Batch& batch, std::span<const int> targets, std::span<const float> weights)
        : m_spec(spec)
        , m_readOut(spec, ends, math)
        , m_batch(batch)
        , m_x(x)
        , m_targets(targets)
        , m_weights(weights)
        , m_gradient(at::zeros_like(x)) {}

    LossGradient of(Scalarisation kind) {
        std::vector<double> values;
        for (int row = 0; row < m_batch.rows; ++row)
            values.push_back(m_spec.family == Family::encoder ? encoderRow(row, kind) : decoderRow(row, kind));
        return {std::move(values), m_gradient};
    }

private:
    /// Adds the gradient of `value`'s scalar, a function of the chosen positions of a row, times `scale`.
    template <typename Value>
    double pull(int row, std::int64_t begin, std::int64_t count, Value value) {
        const c10::AutoGradMode recording(true);
        const at::Tensor leaf = m_x.select(0, row).narrow(0, begin, count).detach().requires_grad_(true);
        const at::Tensor scalar = value(leaf);
        const auto gradient = torch::autograd::grad({scalar}, {leaf});
        m_gradient.select(0, row).narrow(0, begin, count).add_(gradient.front());
        return scalar.item<double>();
    }

    double encoderRow(int row, Scalarisation kind) {
        return pull(row, 0, 1, [&](const at::Tensor& first) {
            if (kind == Scalarisation::pooledNorm)
                return m_readOut.pooled(first).norm();
            const at::Tensor logits = m_readOut.classes(first);
            if (kind == Scalarisation::logitNorm)
                return logits.norm();
            const at::Tensor logProbability = logits.log_softmax(1).select(1, m_targets[index(row)]).sum();
            return logProbability * (kind == Scalarisation::taskLoss ? -weight(index(row)) : weight(index(row)));
        });
    }

    double decoderRow(int row, Scalarisation kind) {
        if (kind == Scalarisation::pooledNorm)
            throw Error("A decoder has no pooled output to take the norm of");
        const std::int64_t length = m_batch.length(row);
        const std::int64_t step = rowsAtOnce(m_spec.vocab);
        double sum = 0;
        for (std::int64_t begin = 0; begin < length; begin += step) {
            const std::int64_t count = std::min(step, length - begin);
            sum += pull(row, begin, count, [&](const at::Tensor& x) {
                const at::Tensor logits = m_readOut.logits(x);
                return kind == Scalarisation::logitNorm ? logits.square().sum() / 2
                                                        : targetSum(logits, row, begin, kind);
            });
        }
        if (kind != Scalarisation::logitNorm)
            return sum;
        // Of half the square the gradient was taken; the root's is that over the root.
        const double norm = std::sqrt(2 * sum);
        if (norm > 0)
            m_gradient.select(0, row).div_(norm);
        return norm;
    }

    at::Tensor targetSum(const at::Tensor& logits, int row, std::int64_t begin, Scalarisation kind) const {
        std::vector<std::int64_t> targets;
        std::vector<float> factors;
        const float sign = kind == Scalarisation::taskLoss ? -1.F : 1.F;
        for (std::int64_t i = 0; i < logits.size(0); ++i) {
            const std::size_t at =
                index(row) * static_cast<std::size_t>(m_batch.positions) + static_cast<std::size_t>(begin + i);
            targets.push_back(std::max(0, m_targets[at]));
            factors.push_back(m_targets[at] < 0 ? 0.F : sign * weight(at));
        }
        const at::Tensor chosen = at::tensor(targets, at::kLong).to(logits.device()).unsqueeze(1);
        const at::Tensor logProbabilities = logits.log_softmax(1).gather(1, chosen).squeeze(1);
        return (logProbabilities * at::tensor(factors).to(logits.device())).sum();
    }

    static std::size_t index(int row) { return static_cast<std::size_t>(row); }
    float weight(std::size_t at) const { return m_weights.empty() ? 1.F : m_weights[at]; }

    const ModelSpec& m_spec;
    ReadOut m_readOut;
    const Batch& m_batch;
    at::Tensor m_x;
    std::span<const int> m_targets;
    std::span<const float> m_weights;
    at::Tensor m_gradient;
};

} // namespace

LossGradient lossGradientOf(const LayerMath& math, const ModelSpec& spec, const PlanEnds& ends, const at::Tensor& x,
                            const Batch& batch, Scalarisation of, std::span<const int> targets,
                            std::span<const float> weights) {
    return LossGradients(math, spec, ends, x, batch, targets, weights).of(of);
}

} // namespace secateur
