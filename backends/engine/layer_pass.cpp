#include "backends/engine/layer_pass.h"

#include <ATen/ATen.h>

namespace secateur {

LayerPass::LayerPass(const LayerMath& math, const AttentionInput& input, TapObserver& observer)
    : m_math(math)
    , m_input(input)
    , m_layer(input.layer)
    , m_place(input.spec.normPlace)
    , m_observer(observer) {}

at::Tensor LayerPass::run(const at::Tensor& x) const {
    show(Tap::input, x);
    at::Tensor out = x;
    if (!m_layer.dropped) {
        const at::Tensor input = attentionInput(x);
        at::Tensor update;
        if (m_layer.spec.attention != AttentionKind::none) {
            show(Tap::attentionInput, input);
            update = attentionUpdate(m_math.linear(m_layer.output, context(input)));
        }
        out = afterAttention(x, update, input);
    }
    show(Tap::output, out);
    return out;
}

at::Tensor LayerPass::attentionInput(const at::Tensor& x) const {
    if (m_layer.attentionNorm)
        return m_math.normalised(m_layer.attentionNorm, x);
    return m_layer.spec.attention == AttentionKind::none ? at::Tensor() : m_math.forProduct(x);
}

at::Tensor LayerPass::context(const at::Tensor& input) const {
    if (m_layer.spec.attention == AttentionKind::linear)
        return input;
    const at::Tensor projected = m_math.linear(m_layer.projections, input);
    if (m_layer.spec.attention == AttentionKind::valueOnly)
        return m_math.forProduct(projected);
    return m_math.context(projected, m_input, m_observer);
}

at::Tensor LayerPass::attentionUpdate(const at::Tensor& attentionOutput) const {
    show(Tap::attentionOutput, attentionOutput);
    at::Tensor update = attentionOutput;
    if (m_place == NormPlace::sandwich)
        update = m_math.normalisedStream(m_layer.attentionPostNorm, attentionOutput);
    show(Tap::attentionUpdate, update);
    return update;
}

at::Tensor LayerPass::afterAttention(const at::Tensor& x, const at::Tensor& update, const at::Tensor& input) const {
    if (m_place == NormPlace::parallel) {
        const at::Tensor sum = update.defined() ? x + update : x;
        return m_layer.hasMlp ? addMlp(sum, update.defined(), input) : sum;
    }
    if (m_place == NormPlace::after) {
        at::Tensor y = update.defined() ? x + update : x;
        y = m_layer.attentionPostNorm ? m_math.normalisedStream(m_layer.attentionPostNorm, y) : y;
        if (m_layer.hasMlp)
            y = addMlp(y, m_layer.attentionPostNorm || update.defined(), m_math.forProduct(y));
        return m_layer.mlpPostNorm ? m_math.normalisedStream(m_layer.mlpPostNorm, y) : y;
    }
    if (!m_layer.hasMlp)
        return update.defined() ? x + update : x;
    if (!update.defined())
        return addMlp(x, false, m_math.normalised(m_layer.mlpNorm, x));
    const auto [sum, normalised] = m_math.addAndNormalise(m_layer.mlpNorm, x, update);
    return addMlp(sum, true, normalised);
}

at::Tensor LayerPass::mlpHidden(const at::Tensor& input) const {
    const at::Tensor projected = m_math.linear(m_layer.gateUp, input);
    at::Tensor hidden = m_math.activated(projected, m_input.spec.activation, m_input.spec.gatedMlp);
    show(Tap::mlpHidden, hidden);
    return hidden;
}

at::Tensor LayerPass::addMlp(const at::Tensor& sum, bool ownsSum, const at::Tensor& input) const {
    const bool hasPostNorm = m_place == NormPlace::sandwich;
    const bool isObserved =
        m_observer.wants(Tap::mlpHidden) || m_observer.wants(Tap::mlpOutput) || m_observer.wants(Tap::mlpUpdate);
    if (ownsSum && !hasPostNorm && !isObserved)
        return m_math.addMlp(sum, m_input.spec, m_layer, input,
                             m_place != NormPlace::after && !m_observer.wants(Tap::output));
    const at::Tensor hidden = mlpHidden(input);
    const at::Tensor output = m_math.linear(m_layer.down, hidden);
    show(Tap::mlpOutput, output);
    const at::Tensor update = hasPostNorm ? m_math.normalisedStream(m_layer.mlpPostNorm, output) : output;
    show(Tap::mlpUpdate, update);
    return sum + update;
}

void LayerPass::show(Tap tap, const at::Tensor& values) const {
    if (m_observer.wants(tap))
        m_observer.see(tap, values);
}

namespace {

/// One layer from one input under several masks. The heads' contexts are computed once.
class Variants {
public:
    Variants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input, const at::Tensor& x)
        : m_plan(plan)
        , m_index(layer)
        , m_mask(plan.mask().layer(layer))
        , m_math(math)
        , m_input(input)
        , m_pass(math, input, m_noObserver)
        , m_x(x) {
        if (input.layer.dropped)
            return;
        m_attentionInput = m_pass.attentionInput(x);
        if (input.layer.spec.attention == AttentionKind::none)
            return;
        m_context = m_pass.context(m_attentionInput);
        m_output = math.linear(input.layer.output, m_context);
        m_update = m_pass.attentionUpdate(m_output);
    }

    at::Tensor run(const LayerMask& variant) {
        if (!variant.block || m_input.layer.dropped)
            return m_x;
        const at::Tensor update = updateUnder(variant);
        if (variant.mlp == m_mask.mlp && variant.neurons == m_mask.neurons)
            return withOwnMlp(update);
        LayerMask tail = m_mask;
        tail.mlp = variant.mlp;
        tail.neurons = variant.neurons;
        const auto layer = m_plan.layer(m_index, tail);
        const AttentionInput input = inputOf(*layer);
        return LayerPass(m_math, input, m_noObserver).afterAttention(m_x, update, m_attentionInput);
    }

private:
    AttentionInput inputOf(const PlanLayer& layer) const {
        return {m_input.spec, layer, m_input.rows, m_input.positions, m_input.first, m_input.lengths, m_input.rotary};
    }

    /// In a parallel block the MLP does not depend on attention: it is computed once.
    at::Tensor withOwnMlp(const at::Tensor& update) {
        if (m_input.spec.normPlace != NormPlace::parallel)
            return m_pass.afterAttention(m_x, update, m_attentionInput);
        if (!m_withoutAttention.defined())
            m_withoutAttention = m_pass.afterAttention(m_x, {}, m_attentionInput);
        return update.defined() ? m_withoutAttention + update : m_withoutAttention;
    }

    at::Tensor updateUnder(const LayerMask& variant) {
        if (variant.attention == AttentionCut::drop || !m_update.defined())
            return {};
        if (variant.attention != m_mask.attention || variant.alpha != m_mask.alpha ||
            m_input.layer.spec.attention != AttentionKind::full)
            return variant.attention == m_mask.attention && variant.heads == m_mask.heads
                       ? m_update
                       : updateOfVariantLayer(variant);
        return variant.heads == m_mask.heads ? m_update : withoutHeads(variant);
    }

    /// The attention update of a variant whose kind of attention differs from the plan's.
    at::Tensor updateOfVariantLayer(const LayerMask& variant) const {
        LayerMask attention = m_mask;
        attention.attention = variant.attention;
        attention.alpha = variant.alpha;
        attention.heads = variant.heads;
        const auto layer = m_plan.layer(m_index, attention);
        if (layer->spec.attention == AttentionKind::none)
            return {};
        const AttentionInput input = inputOf(*layer);
        const LayerPass pass(m_math, input, m_noObserver);
        return pass.attentionUpdate(m_math.linear(layer->output, pass.context(m_attentionInput)));
    }

    /// The output projection of the kept heads, or that of all heads minus that of the cut ones: whichever are fewer.
    at::Tensor withoutHeads(const LayerMask& variant) {
        std::vector<std::int64_t> cut;
        std::vector<std::int64_t> stay;
        for (std::size_t i = 0; i < m_input.layer.keptHeads.size(); ++i) {
            const auto head = static_cast<std::size_t>(m_input.layer.keptHeads[i]);
            (variant.heads[head] ? stay : cut).push_back(static_cast<std::int64_t>(i));
        }
        const bool subtracts = cut.size() < stay.size();
        const at::Tensor part = headsContribution(subtracts ? cut : stay);
        if (subtracts)
            return m_pass.attentionUpdate(m_output - part);
        const at::Tensor& bias = m_input.layer.output.bias;
        return m_pass.attentionUpdate(bias.defined() ? part + bias : part);
    }

    /// The output projection of some of the kept heads, without its bias.
    at::Tensor headsContribution(const std::vector<std::int64_t>& heads) {
        std::vector<std::int64_t> inModel;
        for (const std::int64_t head : heads)
            inModel.push_back(m_input.layer.keptHeads[static_cast<std::size_t>(head)]);
        if (!m_outputWeight.defined())
            m_outputWeight = m_plan.outputWeight(m_index);
        Linear columns;
        columns.out = m_outputWeight.size(0);
        columns.in = static_cast<std::int64_t>(heads.size()) * m_input.layer.spec.headDim;
        columns.weight = chosen(m_outputWeight, inModel).to(m_context.options());
        if (m_input.layer.output.packed && columns.in > 0)
            columns.packed = std::make_shared<PackedMatrix>(columns.weight);
        return m_math.linear(columns, chosen(m_context, heads));
    }

    /// Columns of some heads.
    at::Tensor chosen(const at::Tensor& all, const std::vector<std::int64_t>& heads) const {
        const at::Tensor indices = at::tensor(heads, at::kLong).to(all.device());
        return all.reshape({all.size(0), -1, m_input.layer.spec.headDim}).index_select(1, indices).flatten(1);
    }

    const EnginePlan& m_plan;
    int m_index;
    const LayerMask& m_mask;
    const LayerMath& m_math;
    const AttentionInput& m_input;
    mutable TapObserver m_noObserver;
    LayerPass m_pass;
    at::Tensor m_x;
    at::Tensor m_attentionInput;
    at::Tensor m_context;
    at::Tensor m_output;
    at::Tensor m_update;
    at::Tensor m_withoutAttention;
    at::Tensor m_outputWeight; ///< [hidden, heads * headDim] of all heads of the model
};

} // namespace

void runLayerVariants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input,
                      const at::Tensor& x, std::span<const LayerMask> variants, const Runner::VariantSink& sink) {
    Variants shared(plan, layer, math, input, x);
    for (std::size_t i = 0; i < variants.size(); ++i)
        sink(i, shared.run(variants[i]));
}

} // namespace secateur
