#include "backends/engine/attention_blocks.h"
#include "backends/engine/layer_math.h"
#include "backends/kernels/gradient_loops.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace secateur {

/// The way back through LayerMath::context() on the processor, without cache. Keeps what it needs: the graph that it
/// is part of outlives the layer's weights. For sources only: pulls in ATen.
class ContextBackward {
public:
    /// @param projected what context() read, contiguous
    ContextBackward(const AttentionInput& input, at::Tensor projected);

    /// @param dContext [tokens, heads headDim] -> of `projected`
    at::Tensor projectedGradient(const at::Tensor& dContext) const;

    /// Of the queries, keys and values in it. @param perHead whether keys and values are those of query heads
    ProjectionGradients headGradients(const at::Tensor& dContext, bool perHead) const;

private:
    at::Tensor empty(std::int64_t heads) const;
    void pull(const at::Tensor& dContext, const ProjectionGradients& result) const;

    std::vector<int> m_groupBegin;
    AttentionShape m_shape;
    Norm m_queryNorm;
    Norm m_keyNorm;
    RotaryTable m_rotary;
    std::vector<int> m_lengths;
    at::Tensor m_kvHeads;   ///< [heads]
    at::Tensor m_projected; ///< [rows, positions, width]
};

ContextBackward::ContextBackward(const AttentionInput& input, at::Tensor projected)
    : m_groupBegin(input.layer.groupBegin)
    , m_shape(shapeOf(input))
    , m_queryNorm(input.layer.queryNorm)
    , m_keyNorm(input.layer.keyNorm)
    , m_rotary(input.rotary)
    , m_lengths(input.lengths)
    , m_kvHeads(kvHeadOf(input.layer, at::kCPU))
    , m_projected(projected.view({input.rows, input.positions, -1})) {
    m_shape.groupBegin = nullptr; // the layer's, which may go; pull() has our own
}

at::Tensor ContextBackward::projectedGradient(const at::Tensor& dContext) const {
    constexpr std::int64_t enough = 16; // pieces of work for many threads
    const std::int64_t kvHeads = m_shape.kvHeads;
    const at::Tensor result = empty(m_shape.heads + 2 * kvHeads);
    const ProjectionGradients parts{result.narrow(2, 0, m_shape.heads), result.narrow(2, m_shape.heads, kvHeads),
                                    result.narrow(2, m_shape.heads + kvHeads, kvHeads)};
    if (m_projected.size(0) * kvHeads >= enough || kvHeads == m_shape.heads)
        pull(dContext, parts);
    else {
        const ProjectionGradients apart{parts.queries, empty(m_shape.heads), empty(m_shape.heads)};
        pull(dContext, apart);
        parts.keys.zero_().index_add_(2, m_kvHeads, apart.keys);
        parts.values.zero_().index_add_(2, m_kvHeads, apart.values);
    }
    return result.view({dContext.size(0), m_projected.size(2)});
}

ProjectionGradients ContextBackward::headGradients(const at::Tensor& dContext, bool perHead) const {
    const std::int64_t keyHeads = perHead ? m_shape.heads : m_shape.kvHeads;
    const ProjectionGradients result{empty(m_shape.heads), empty(keyHeads), empty(keyHeads)};
    pull(dContext, result);
    return result;
}

at::Tensor ContextBackward::empty(std::int64_t heads) const {
    return at::empty({m_projected.size(0), m_projected.size(1), heads, m_shape.headDim}, m_projected.options());
}

void ContextBackward::pull(const at::Tensor& dContext, const ProjectionGradients& result) const {
    AttentionShape shape = m_shape;
    shape.groupBegin = m_groupBegin.data();
    attendBackward(m_projected, shape, valuesOf(m_queryNorm), valuesOf(m_keyNorm), tablesOf(m_rotary), m_lengths, dContext,
               result);
}

namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// What a step gives for the gradient of what it made: the gradients of what it read.
using Back = std::function<variable_list(const at::Tensor& gradient)>;

/// A step of autograd's graph whose gradient is known.
class FormulaNode : public Node {
public:
    explicit FormulaNode(Back back)
        : m_back(std::move(back)) {}

    void release_variables() override { m_back = {}; }

private:
    variable_list apply(variable_list&& gradients) override {
        if (!gradients.front().defined())
            return variable_list(next_edges().size());
        const c10::NoGradGuard noGraph;
        return m_back(gradients.front().contiguous());
    }

    Back m_back;
};

/// A step as libtorch holds it: up to some version by std::shared_ptr, since then by a pointer of its own.
template <typename Pointer, typename Step = FormulaNode>
Pointer newNode(void (* /*takes it*/)(at::Tensor&, Pointer), Back back) {
    if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>)
        return Pointer(new Step(std::move(back)), [](auto* step) { deleteNode(step); });
    else
        return c10::make_intrusive<Step>(std::move(back));
}

/// What was made of `inputs`, as a step of their graph.
template <typename... Inputs>
at::Tensor withNode(at::Tensor made, Back back, const Inputs&... inputs) {
    if (!c10::GradMode::is_enabled() || !(inputs.requires_grad() || ...))
        return made;
    const auto step = newNode(&torch::autograd::create_gradient_edge, std::move(back));
    step->set_next_edges(torch::autograd::collect_next_edges(inputs...));
    torch::autograd::create_gradient_edge(made, step);
    return made;
}

/// Forward as the processor's own loops go, backward by formulas; what has none of its own is ATen's.
class GradientMath : public LayerMath {
public:
    at::Tensor normed(const Norm& norm, const at::Tensor& x) const override { return normedStream(norm, x); }

    at::Tensor normedStream(const Norm& norm, const at::Tensor& x) const override {
        const at::Tensor values = x.detach().contiguous();
        const Back back = [=](const at::Tensor& gradient) {
            at::Tensor result = at::empty_like(values);
            normRowsBackward(values, valuesOf(norm), gradient, result);
            return variable_list{result};
        };
        return withNode(forward([&] { return m_fused->normedStream(norm, values); }), back, x);
    }

    std::pair<at::Tensor, at::Tensor> addAndNorm(const Norm& norm, const at::Tensor& x,
                                                 const at::Tensor& added) const override {
        const at::Tensor sum = x + added;
        return {sum, normedStream(norm, sum)};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x; }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        if (!linear.packed)
            return m_plain->linear(linear, input);
        const at::Tensor values = input.detach();
        return withNode(forward([&] { return m_fused->linear(linear, values.contiguous()); }), linearBackward(linear),
                        input);
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const override {
        return sum + linear(wanted, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation kind, bool gated) const override {
        const at::Tensor values = projected.detach();
        const Back back = [=](const at::Tensor& gradient) {
            at::Tensor result = at::empty_like(values);
            activateRowsBackward(values, kind, gated, gradient, result);
            return variable_list{result};
        };
        return withNode(forward([&] { return m_fused->activated(values, kind, gated); }), back, projected);
    }

    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& read,
                      bool isLast) const override {
        const at::Tensor hidden = activated(linear(layer.gateUp, read), spec.activation, spec.gatedMlp);
        if (!isLast || !layer.down.packed)
            return addLinear(sum, layer.down, hidden);
        const at::Tensor nothing = at::zeros({1, 1}, sum.options()).expand_as(sum);
        return sum + withNode(nothing, linearBackward(layer.down), hidden);
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override {
        const bool needsProbabilities = observer.wants(Tap::attention) || input.attentionScales.defined();
        if (needsProbabilities || observer.wantsAttention() || !observer.attentionFeatures().empty() || input.cache)
            return m_plain->context(projected, input, observer);
        const at::Tensor values = projected.detach().contiguous();
        TapObserver noObserver;
        const at::Tensor made = forward([&] { return m_fused->context(values, input, noObserver); });
        const at::Tensor context = withBackward(made, ContextBackward(input, values), projected, input, observer);
        if (observer.wants(Tap::context))
            observer.see(Tap::context, context);
        return context;
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        m_fused->crossEntropy(logits, targets, softcap, losses, greedy);
    }

private:
    static at::Tensor withBackward(const at::Tensor& context, ContextBackward through, const at::Tensor& projected,
                                  const AttentionInput& input, TapObserver& observer) {
        if (!observer.wants(Tap::query) && !observer.wants(Tap::key) && !observer.wants(Tap::value))
            return withNode(
                context,
                [through = std::move(through)](const at::Tensor& gradient) {
                    return variable_list{through.projectedGradient(gradient)};
                },
                projected);
        const ProjectedHeads heads = projectedHeads(projected, input, observer);
        const Back back = [through = std::move(through), perHead = heads.perHead](const at::Tensor& gradient) {
            const ProjectionGradients parts = through.headGradients(gradient, perHead);
            return variable_list{parts.queries, parts.keys, parts.values};
        };
        return withNode(context, back, heads.queries, heads.keys, heads.values);
    }

    static Back linearBackward(const Linear& linear) {
        return [transposed = linear.transposed, in = linear.in](const at::Tensor& gradient) {
            at::Tensor result = at::empty({gradient.size(0), in}, gradient.options());
            back->multiply(gradient, result, false);
            return variable_list{result};
        };
    }

    template <typename Work>
    static at::Tensor forward(const Work& work) {
        const c10::NoGradGuard noGraph;
        return work();
    }

    std::unique_ptr<const LayerMath> m_fused = fusedMath(ComputeType::float32);
    std::unique_ptr<const LayerMath> m_plain = plainMath(ComputeType::float32);
};

} // namespace

std::unique_ptr<const LayerMath> gradientMath() {
    return std::make_unique<GradientMath>();
}

} // namespace secateur
