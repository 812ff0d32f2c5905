#include "backends/engine/backward.h"

#include "analysis/base/error.h"
#include "backends/engine/embedding_and_head.h"
#include "backends/engine/layer_pass.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace secateur {

namespace {

/// A TapObserver that stores the tensors whose gradients are requested.
class TapRecorder : public TapObserver {
public:
    explicit TapRecorder(std::set<Tap> wanted)
        : m_wanted(std::move(wanted)) {}

    bool wants(Tap tap) const override { return m_wanted.contains(tap); }
    void see(Tap tap, const at::Tensor& values) override { m_seen.insert_or_assign(tap, values); }

    const std::map<Tap, at::Tensor>& seen() const { return m_seen; }

private:
    std::set<Tap> m_wanted;
    std::map<Tap, at::Tensor> m_seen;
};

/// Reshapes tensors of taps to the shapes documented at Tap.
struct TapShape {
    std::int64_t rows;
    std::int64_t positions;
    std::int64_t headDim;

    /// Reshapes a tensor of a tap: [tokens, ...] -> [rows, positions, heads, headDim] or [rows, positions, width].
    /// Attention probabilities are unchanged.
    at::Tensor shaped(const at::Tensor& values, Tap tap) const {
        if (!values.defined() || tap == Tap::attention)
            return values;
        const bool byHead = tap == Tap::query || tap == Tap::key || tap == Tap::value || tap == Tap::context;
        if (byHead)
            return values.reshape({rows, positions, -1, headDim});
        return values.reshape({rows, positions, -1});
    }
};

/// The place of a leaf's gradient in the result.
at::Tensor& gradientOf(AdapterGradients& gradients, const AdapterLeaf& leaf) {
    using enum AdapterLeaf::Part;
    switch (leaf.part) {
    case a:
        return gradients.updates[leaf.weight].a;
    case b:
        return gradients.updates[leaf.weight].b;
    case factors:
        return gradients.factors[leaf.weight];
    case bias:
        return gradients.biases[leaf.weight];
    case weight:
        break;
    }
    return gradients.weights[leaf.weight];
}

class LayerGraph : public RecordedLayer {
public:
    LayerGraph(const LayerMath& math, const AttentionInput& input, const at::Tensor& x, std::set<Tap> wanted)
        : m_shape{input.rows, input.positions, input.layer.spec.headDim}
        , m_recorder(std::move(wanted))
        , m_leaves(input.layer.leaves) {
        const c10::AutoGradMode recording(true);
        m_leaf = x.detach().requires_grad_(true);
        m_output = LayerPass(math, input, m_recorder).run(m_leaf);
    }

    at::Tensor output() const override { return m_shape.shaped(m_output.detach(), Tap::output); }

    void backwardEach(std::span<const OutputGradient> outputs, const Runner::BackwardSink& sink) override {
        for (std::size_t i = 0; i < outputs.size(); ++i)
            sink(i, gradients(outputs[i], i + 1 < outputs.size()));
    }

private:
    LayerGradients gradients(const OutputGradient& output, bool keepsGraph) const {
        const c10::AutoGradMode recording(true);
        std::vector<at::Tensor> asked{m_leaf};
        std::vector<Tap> taps;
        for (const auto& [tap, values] : m_recorder.seen())
            if (std::ranges::find(output.wanted, tap) != output.wanted.end()) {
                asked.push_back(values);
                taps.push_back(tap);
            }
        for (const AdapterLeaf& leaf : m_leaves)
            asked.push_back(leaf.tensor);
        const auto found = torch::autograd::grad({m_output}, asked, {output.dOutput.reshape(m_output.sizes())},
                                                 keepsGraph, false, true);
        LayerGradients result;
        result.input = m_shape.shaped(found.front(), Tap::input);
        for (std::size_t tap = 0; tap < taps.size(); ++tap)
            result.taps[taps[tap]] = {m_shape.shaped(asked[tap + 1].detach(), taps[tap]),
                                      m_shape.shaped(found[tap + 1], taps[tap])};
        for (std::size_t leaf = 0; leaf < m_leaves.size(); ++leaf)
            gradientOf(result.adapters, m_leaves[leaf]) = found[1 + taps.size() + leaf];
        return result;
    }

    TapShape m_shape;
    TapRecorder m_recorder;
    std::vector<AdapterLeaf> m_leaves;
    at::Tensor m_leaf;
    at::Tensor m_output;
};

} // namespace

void backwardLayer(const LayerMath& math, const AttentionInput& input, const at::Tensor& x,
                   std::span<const OutputGradient> outputs, const Runner::BackwardSink& sink) {
    std::set<Tap> wanted;
    for (const OutputGradient& output : outputs)
        wanted.insert(output.wanted.begin(), output.wanted.end());
    LayerGraph(math, input, x, std::move(wanted)).backwardEach(outputs, sink);
}

std::unique_ptr<RecordedLayer> recordLayerGraph(const LayerMath& math, const AttentionInput& input, const at::Tensor& x,
                                                std::span<const Tap> wanted) {
    std::set<Tap> taps(wanted.begin(), wanted.end());
    taps.insert(Tap::output); // without this tap, LayerMath::addMlp() may skip the output's values
    return std::make_unique<LayerGraph>(math, input, x, std::move(taps));
}

// Counts the tensors that the graph stores: inputs of norms, attention and activation, and the tapped tensors. In plain
// mode ATen stores most intermediate results.
std::int64_t graphBytes(const ModelSpec& spec, const LayerSpec& layer, const Batch& batch, std::span<const Tap> wanted,
                        bool isPlain) {
    const std::int64_t hidden = spec.hidden;
    const std::int64_t perHead = std::int64_t{layer.heads} * layer.headDim;
    const std::int64_t projected = std::int64_t{layer.heads + 2 * layer.kvHeads} * layer.headDim;
    const std::int64_t maps = 2 * projected + 3 * perHead + 2 * std::int64_t{layer.heads} * batch.positions;
    const auto ofTap = [&](Tap tap) -> std::int64_t {
        switch (tap) {
        case Tap::key:
        case Tap::value:
        case Tap::context:
            return perHead;
        case Tap::attention:
            return isPlain ? 0 : maps;
        case Tap::mlpHidden:
            return layer.ffn;
        case Tap::attentionOutput:
        case Tap::attentionUpdate:
        case Tap::mlpOutput:
        case Tap::mlpUpdate:
            return hidden;
        default: // views of other tensors, or tensors that are counted already
            return 0;
        }
    };
    std::int64_t ofToken = 2 * hidden + projected + (spec.gatedMlp ? 2 : 1) * std::int64_t{layer.ffn};
    if (spec.normPlace == NormPlace::sandwich)
        ofToken += 2 * hidden;
    if (isPlain)
        ofToken += maps + 2 * hidden + layer.ffn;
    for (const Tap tap : std::set(wanted.begin(), wanted.end()))
        ofToken += ofTap(tap);
    return 4 * batch.tokens() * ofToken;
}

namespace {

/// Computes the scalars of a batch and the gradient of their sum with respect to the last residual stream.
class LossGradients {
public:
    LossGradients(const LayerMath& math, const ModelSpec& spec, const EmbeddingAndHead& headWeights,
                  const at::Tensor& x, const Batch& batch, const LossTargets& targets)
        : m_spec(spec)
        , m_head(spec, headWeights, math)
        , m_leaves(headWeights.leaves)
        , m_batch(batch)
        , m_x(x.contiguous())
        , m_targets(targets.targets)
        , m_scalars(targets, m_x.device())
        , m_gradient(at::zeros_like(m_x)) {}

    LossGradient of(Scalarisation kind) {
        m_values.assign(static_cast<std::size_t>(m_batch.rows), 0);
        if (m_spec.family == Family::encoder)
            encoder(kind);
        else
            decoder(kind);
        return {std::move(m_values), m_gradient, std::move(m_adapters)};
    }

private:
    /// Applies the output head to x [n, hidden], the stream at `tokens`. Adds the scalars of its output, and their
    /// gradients.
    template <typename Head, typename ScalarsOf>
    void add(const std::vector<std::int64_t>& tokens, const Head& head, const ScalarsOf& scalarsOf) {
        const at::Tensor places = at::tensor(tokens, at::kLong).to(m_x.device());
        const c10::AutoGradMode recording(true);
        const at::Tensor leaf = flat(m_x).index_select(0, places).detach().requires_grad_(true);
        const at::Tensor logits = head(leaf);
        const Scalars scalars = scalarsOf(logits.detach());
        std::vector<at::Tensor> asked{leaf};
        for (const AdapterLeaf& trained : m_leaves)
            asked.push_back(trained.tensor);
        const auto gradients = torch::autograd::grad({logits}, asked, {scalars.gradients}, {}, false, true);
        flat(m_gradient).index_copy_(0, places, gradients.front().to(m_gradient.scalar_type()));
        for (std::size_t i = 0; i < m_leaves.size(); ++i) {
            at::Tensor& sum = gradientOf(m_adapters, m_leaves[i]);
            if (gradients[i + 1].defined())
                sum = sum.defined() ? sum + gradients[i + 1] : gradients[i + 1];
        }
        const at::Tensor values = scalars.values.to(at::kCPU, at::kDouble).contiguous();
        for (std::size_t i = 0; i < tokens.size(); ++i)
            m_values[static_cast<std::size_t>(tokens[i] / m_batch.positions)] += values.data_ptr<double>()[i];
    }

    void encoder(Scalarisation kind) {
        std::vector<std::int64_t> first;
        for (std::int64_t row = 0; row < m_batch.rows; ++row)
            first.push_back(row * m_batch.positions);
        std::vector<std::size_t> labels(static_cast<std::size_t>(m_batch.rows));
        std::iota(labels.begin(), labels.end(), std::size_t{0});
        const auto head = [&](const at::Tensor& x) {
            return kind == Scalarisation::pooledNorm ? m_head.pooled(x) : m_head.classes(x);
        };
        add(first, head, [&](const at::Tensor& logits) {
            return kind == Scalarisation::pooledNorm || kind == Scalarisation::logitNorm
                       ? normsOf(logits)
                       : m_scalars.of(logits, labels, kind);
        });
    }

    void decoder(Scalarisation kind) {
        if (kind == Scalarisation::pooledNorm)
            throw Error("A decoder has no pooled output");
        const std::vector<std::int64_t> tokens = chosenTokens(kind);
        const auto step = static_cast<std::size_t>(rowsAtOnce(m_spec.vocab));
        for (std::size_t begin = 0; begin < tokens.size(); begin += step) {
            const std::vector<std::int64_t> some(
                tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                tokens.begin() + static_cast<std::ptrdiff_t>(std::min(begin + step, tokens.size())));
            const std::vector<std::size_t> places(some.begin(), some.end());
            add(
                some, [&](const at::Tensor& x) { return m_head.logits(x); },
                [&](const at::Tensor& logits) {
                    return kind == Scalarisation::logitNorm ? Scalars{logits.square().sum(1) / 2, logits}
                                                            : m_scalars.of(logits, places, kind);
                });
        }
        // So far the value of a row is s = |z|^2 / 2. The gradient of |z| = sqrt(2 s) is the gradient of s divided by
        // |z|.
        for (int row = 0; kind == Scalarisation::logitNorm && row < m_batch.rows; ++row) {
            double& value = m_values[static_cast<std::size_t>(row)];
            value = std::sqrt(2 * value);
            if (value > 0)
                m_gradient.select(0, row).div_(value);
        }
    }

    /// Indices in the batch of the tokens that contribute to the scalar.
    std::vector<std::int64_t> chosenTokens(Scalarisation kind) const {
        std::vector<std::int64_t> tokens;
        for (int row = 0; row < m_batch.rows; ++row)
            for (int i = 0; i < m_batch.length(row); ++i) {
                const std::int64_t token = std::int64_t{row} * m_batch.positions + i;
                const auto at = static_cast<std::size_t>(token);
                if (kind == Scalarisation::logitNorm || (m_targets[at] >= 0 && m_scalars.weight(at) != 0))
                    tokens.push_back(token);
            }
        return tokens;
    }

    /// Euclidean norms of rows and their gradients. The gradient of a norm of 0 is set to 0.
    static Scalars normsOf(const at::Tensor& rows) {
        const at::Tensor norms = rows.norm(2, 1, true);
        return {norms.squeeze(1), at::where(norms.gt(0), rows / norms, at::zeros_like(rows))};
    }

    static at::Tensor flat(const at::Tensor& stream) { return stream.view({-1, stream.size(-1)}); }

    const ModelSpec& m_spec;
    OutputHead m_head;
    const std::vector<AdapterLeaf>& m_leaves;
    const Batch& m_batch;
    at::Tensor m_x;
    std::span<const int> m_targets;
    TargetScalars m_scalars;
    at::Tensor m_gradient;
    std::vector<double> m_values; ///< value of each row
    AdapterGradients m_adapters;
};

} // namespace

LossGradient lossGradientOf(const LayerMath& math, const ModelSpec& spec, const EmbeddingAndHead& headWeights,
                            const at::Tensor& x, const Batch& batch, Scalarisation of, const LossTargets& targets) {
    return LossGradients(math, spec, headWeights, x, batch, targets).of(of);
}

} // namespace secateur
