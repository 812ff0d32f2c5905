#include "backends/engine/attention_blocks.h"
#include "backends/engine/layer_math.h"
#include "backends/kernels/dropout.h"
#include "backends/kernels/gradient_loops.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace secateur {

namespace {

/// The backward pass of LayerMath::context() on the CPU, without a cache. It stores copies of its inputs, because the
/// graph of autograd may outlive the layer's weights.
class ContextBackward {
public:
    /// @param projected the input of context(), contiguous
    ContextBackward(const AttentionInput& input, at::Tensor projected)
        : m_groupBegin(input.layer.groupBegin)
        , m_shape(shapeOf(input))
        , m_queryNorm(input.layer.queryNorm)
        , m_keyNorm(input.layer.keyNorm)
        , m_rotary(input.rotary)
        , m_lengths(input.lengths)
        , m_kvHeads(kvHeadOf(input.layer, at::kCPU))
        , m_projected(projected.view({input.rows, input.positions, -1})) {
        m_shape.groupBegin = nullptr; // run() sets it to m_groupBegin; a pointer into the layer could become invalid
    }

    /// The gradient of `projected`. @param dContext gradient of the context, [tokens, heads headDim]
    at::Tensor projectedGradient(const at::Tensor& dContext) const {
        constexpr std::int64_t enoughTasks = 16; // number of tasks that keeps many threads busy
        const std::int64_t kvHeads = m_shape.kvHeads;
        const at::Tensor result = empty(m_shape.heads + 2 * kvHeads);
        const ProjectionGradients parts{result.narrow(2, 0, m_shape.heads), result.narrow(2, m_shape.heads, kvHeads),
                                        result.narrow(2, m_shape.heads + kvHeads, kvHeads)};
        if (m_projected.size(0) * kvHeads >= enoughTasks || kvHeads == m_shape.heads)
            run(dContext, parts);
        else {
            const ProjectionGradients perHead{parts.queries, empty(m_shape.heads), empty(m_shape.heads)};
            run(dContext, perHead);
            parts.keys.zero_().index_add_(2, m_kvHeads, perHead.keys);
            parts.values.zero_().index_add_(2, m_kvHeads, perHead.values);
        }
        return result.view({dContext.size(0), m_projected.size(2)});
    }

    /// Gradients of queries, keys and values.
    /// @param perHead whether gradients of keys and values are separate for each query head
    ProjectionGradients headGradients(const at::Tensor& dContext, bool perHead) const {
        const std::int64_t keyHeads = perHead ? m_shape.heads : m_shape.kvHeads;
        const ProjectionGradients result{empty(m_shape.heads), empty(keyHeads), empty(keyHeads)};
        run(dContext, result);
        return result;
    }

private:
    at::Tensor empty(std::int64_t heads) const {
        return at::empty({m_projected.size(0), m_projected.size(1), heads, m_shape.headDim}, m_projected.options());
    }

    void run(const at::Tensor& dContext, const ProjectionGradients& result) const {
        AttentionShape shape = m_shape;
        shape.groupBegin = m_groupBegin.data();
        attendBackward(m_projected, shape, valuesOf(m_queryNorm), valuesOf(m_keyNorm), tablesOf(m_rotary), m_lengths,
                       dContext, result);
    }

    std::vector<int> m_groupBegin;
    AttentionShape m_shape;
    Norm m_queryNorm;
    Norm m_keyNorm;
    RotaryTable m_rotary;
    std::vector<int> m_lengths;
    at::Tensor m_kvHeads;   ///< [heads]
    at::Tensor m_projected; ///< [rows, positions, width]
};

using torch::autograd::Node;
using torch::autograd::variable_list;

/// A function that maps the gradient of an operation's output to the gradients of its inputs.
using Backward = std::function<variable_list(const at::Tensor& gradient)>;

/// A node of autograd's graph whose backward pass is a function in this file.
class FormulaNode : public Node {
public:
    explicit FormulaNode(Backward backward)
        : m_backward(std::move(backward)) {}

    void release_variables() override { m_backward = {}; }

private:
    variable_list apply(variable_list&& gradients) override {
        if (!gradients.front().defined())
            return variable_list(next_edges().size());
        const c10::NoGradGuard noGraph;
        return m_backward(gradients.front().contiguous());
    }

    Backward m_backward;
};

/// A node in the pointer type that this version of libtorch uses: std::shared_ptr in older versions, an intrusive
/// pointer in newer versions. The type is deduced from the unnamed parameter, a function that takes such a pointer.
template <typename Pointer, typename NodeType = FormulaNode>
Pointer newNode(void (*)(at::Tensor&, Pointer), Backward backward) {
    if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>)
        return Pointer(new NodeType(std::move(backward)), [](auto* node) { deleteNode(node); });
    else
        return c10::make_intrusive<NodeType>(std::move(backward));
}

/// Adds a node for `output` to the graph of `inputs`.
at::Tensor withNode(at::Tensor output, Backward backward, const variable_list& inputs) {
    const auto needsGradient = [](const at::Tensor& input) { return input.requires_grad(); };
    if (!c10::GradMode::is_enabled() || !std::ranges::any_of(inputs, needsGradient))
        return output;
    const auto node = newNode(&torch::autograd::create_gradient_edge, std::move(backward));
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
    torch::autograd::create_gradient_edge(output, node);
    return output;
}

/// The backward pass of a projection with low-rank updates and the factors and bias of a compensation. It stores the
/// projection's input if there are updates or factors, but not what is dropped of it: this is made again.
class LinearBackward {
public:
    LinearBackward(const Linear& linear, at::Tensor input)
        : m_transposed(linear.transposed)
        , m_weight(linear.packed ? at::Tensor() : linear.weight)
        , m_in(linear.in)
        , m_updates(linear.updates)
        , m_dropout(linear.dropout)
        , m_factors(linear.inputFactors.defined() ? linear.inputFactors.detach() : at::Tensor())
        , m_trainsFactors(isTrained(linear.inputFactors))
        , m_trainsBias(isTrained(linear.bias))
        , m_input(m_updates.empty() && !m_factors.defined() ? at::Tensor() : std::move(input)) {}

    /// Whether a gradient with respect to the factors or the bias is wanted.
    static bool isTrained(const at::Tensor& part) { return part.defined() && part.requires_grad(); }

    /// Gradients of the input, of a and b of each update, and of the factors and the bias if they are trained.
    /// @param gradient [n, out], contiguous
    variable_list operator()(const at::Tensor& gradient) const {
        at::Tensor ofInput;
        if (m_weight.defined())
            ofInput = at::mm(gradient, m_weight);
        else {
            ofInput = at::empty({gradient.size(0), m_in}, gradient.options());
            m_transposed->multiply(gradient, ofInput, false);
        }
        variable_list all{ofInput};
        if (!m_updates.empty())
            addUpdates(gradient, all);
        if (m_trainsFactors)
            all.push_back((all.front() * m_input).sum(0));
        if (m_factors.defined())
            all.front().mul_(m_factors);
        if (m_trainsBias)
            all.push_back(gradient.sum(0));
        return all;
    }

private:
    /// Appends the gradients of the updates, and adds what passes through them to that of the input. The matrices A of
    /// all updates are multiplied together: [ranks, in].
    void addUpdates(const at::Tensor& gradient, variable_list& all) const {
        std::vector<at::Tensor> matrices;
        std::vector<at::Tensor> inner; // gradients of x A^T, [n, rank]
        for (const LinearUpdate& update : m_updates) {
            matrices.push_back(update.a.detach());
            inner.push_back(at::mm(ownOutputs(gradient, update), update.b.detach()).mul_(update.scale));
        }
        const auto joined = [](const std::vector<at::Tensor>& parts, std::int64_t dim) {
            return parts.size() == 1 ? parts.front() : at::cat(parts, dim);
        };
        const at::Tensor a = joined(matrices, 0);
        const at::Tensor ofInner = joined(inner, 1);
        const at::Tensor scaled = m_factors.defined() ? m_input * m_factors : m_input;
        const at::Tensor x = dropped(scaled, m_dropout.probability, m_dropout.key);
        const at::Tensor ofA = at::mm(ofInner.t(), x);
        const at::Tensor products = at::mm(x, a.t());
        std::int64_t begin = 0;
        for (const LinearUpdate& update : m_updates) {
            const std::int64_t rank = update.a.size(0);
            all.push_back(ofA.narrow(0, begin, rank));
            all.push_back(at::mm(ownOutputs(gradient, update).t(), products.narrow(1, begin, rank)).mul_(update.scale));
            begin += rank;
        }
        all.front().add_(dropped(at::mm(ofInner, a), m_dropout.probability, m_dropout.key));
    }

    static at::Tensor ownOutputs(const at::Tensor& gradient, const LinearUpdate& update) {
        return gradient.narrow(1, update.begin, update.b.size(0));
    }

    std::shared_ptr<const PackedMatrix> m_transposed;
    at::Tensor m_weight; ///< [out, in]; undefined if the projection is packed
    std::int64_t m_in;
    std::vector<LinearUpdate> m_updates;
    UpdateDropout m_dropout;
    at::Tensor m_factors; ///< [in]; undefined = 1
    bool m_trainsFactors;
    bool m_trainsBias;
    at::Tensor m_input; ///< [n, in]; undefined without updates and factors
};

/// The inputs of a projection's node, in the order of LinearBackward's gradients.
variable_list inputsOf(const Linear& linear, const at::Tensor& input) {
    variable_list inputs{input};
    for (const LinearUpdate& update : linear.updates) {
        inputs.push_back(update.a);
        inputs.push_back(update.b);
    }
    for (const at::Tensor& part : {linear.inputFactors, linear.bias})
        if (LinearBackward::isTrained(part))
            inputs.push_back(part);
    return inputs;
}

/// Computes forward by the CPU loops and backward by FormulaNodes. Operations without a FormulaNode use ATen.
class GradientMath : public LayerMath {
public:
    at::Tensor normalised(const Norm& norm, const at::Tensor& x) const override { return normalisedStream(norm, x); }

    at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const override {
        if (isTrained(norm))
            return m_plain->normalisedStream(norm, x);
        const at::Tensor values = x.detach().contiguous();
        const Backward backward = [=](const at::Tensor& gradient) {
            at::Tensor result = at::empty_like(values);
            normRowsBackward(values, valuesOf(norm), gradient, result);
            return variable_list{result};
        };
        return withNode(forward([&] { return m_fused->normalisedStream(norm, values); }), backward, {x});
    }

    std::pair<at::Tensor, at::Tensor> addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                      const at::Tensor& added) const override {
        const at::Tensor sum = x + added;
        return {sum, normalisedStream(norm, sum)};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x; }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        if (!hasOwnNode(linear))
            return m_plain->linear(linear, input);
        const at::Tensor values = input.detach().contiguous();
        return withNode(forward([&] { return m_fused->linear(linear, values); }), LinearBackward(linear, values),
                        inputsOf(linear, input));
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const override {
        return sum + linear(wanted, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation kind, bool gated) const override {
        const at::Tensor values = projected.detach();
        const Backward backward = [=](const at::Tensor& gradient) {
            at::Tensor result = at::empty_like(values);
            activateRowsBackward(values, kind, gated, gradient, result);
            return variable_list{result};
        };
        return withNode(forward([&] { return m_fused->activated(values, kind, gated); }), backward, {projected});
    }

    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& input,
                      bool isLast) const override {
        const at::Tensor hidden = activated(linear(layer.gateUp, input), spec.activation, spec.gatedMlp);
        if (!isLast || !hasOwnNode(layer.down))
            return addLinear(sum, layer.down, hidden);
        // Only the gradient of the output is needed, not its values. Zeros take their place.
        const at::Tensor zeros = at::zeros({1, 1}, sum.options()).expand_as(sum);
        return sum + withNode(zeros, LinearBackward(layer.down, hidden.detach()), inputsOf(layer.down, hidden));
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override {
        const bool needsProbabilities = observer.wants(Tap::attention) || input.attentionScales.defined();
        const bool trainsNorms = isTrained(input.layer.queryNorm) || isTrained(input.layer.keyNorm);
        if (needsProbabilities || trainsNorms || observer.wantsAttention() || !observer.attentionFeatures().empty() ||
            input.cache)
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
    static at::Tensor withBackward(const at::Tensor& context, ContextBackward pass, const at::Tensor& projected,
                                   const AttentionInput& input, TapObserver& observer) {
        if (!observer.wants(Tap::query) && !observer.wants(Tap::key) && !observer.wants(Tap::value))
            return withNode(context,
                            [pass = std::move(pass)](const at::Tensor& gradient) {
                                return variable_list{pass.projectedGradient(gradient)};
                            },
                            {projected});
        const ProjectedHeads heads = projectedHeads(projected, input, observer);
        const Backward backward = [pass = std::move(pass), perHead = heads.perHead](const at::Tensor& gradient) {
            const ProjectionGradients parts = pass.headGradients(gradient, perHead);
            return variable_list{parts.queries, parts.keys, parts.values};
        };
        return withNode(context, backward, {heads.queries, heads.keys, heads.values});
    }

    /// Whether LinearBackward computes the gradients of a projection. Its weight is not trained.
    static bool hasOwnNode(const Linear& linear) {
        return linear.packed || (linear.weight.defined() && linear.in > 0 && !linear.weight.requires_grad());
    }

    static bool isTrained(const Norm& norm) {
        return norm.weight.defined() &&
               (norm.weight.requires_grad() || (norm.bias.defined() && norm.bias.requires_grad()));
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
