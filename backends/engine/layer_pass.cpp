#include "backends/engine/layer_pass.h"

#include <ATen/ATen.h>

namespace secateur {

LayerPass::LayerPass(const LayerMath& math, const AttentionInput& input, Watch& watch)
    : m_math(math)
    , m_input(input)
    , m_layer(input.layer)
    , m_place(input.spec.normPlace)
    , m_watch(watch) {}

at::Tensor LayerPass::run(const at::Tensor& x) const {
    show(Tap::input, x);
    at::Tensor out = x;
    if (!m_layer.dropped) {
        const at::Tensor read = attentionRead(x);
        at::Tensor update;
        if (m_layer.spec.attention != AttentionKind::none) {
            show(Tap::attentionInput, read);
            update = attentionUpdate(m_math.linear(m_layer.output, context(read)));
        }
        out = behindAttention(x, update, read);
    }
    show(Tap::output, out);
    return out;
}

at::Tensor LayerPass::attentionRead(const at::Tensor& x) const {
    if (m_layer.attentionNorm)
        return m_math.normed(m_layer.attentionNorm, x);
    return m_layer.spec.attention == AttentionKind::none ? at::Tensor() : m_math.forProduct(x);
}

at::Tensor LayerPass::context(const at::Tensor& read) const {
    if (m_layer.spec.attention == AttentionKind::linear)
        return read;
    const at::Tensor projected = m_math.linear(m_layer.projections, read);
    if (m_layer.spec.attention == AttentionKind::valueOnly)
        return m_math.forProduct(projected);
    return m_math.context(projected, m_input, m_watch);
}

at::Tensor LayerPass::attentionUpdate(const at::Tensor& attentionOutput) const {
    show(Tap::attentionOutput, attentionOutput);
    at::Tensor update = attentionOutput;
    if (m_place == NormPlace::sandwich)
        update = m_math.normedStream(m_layer.attentionPostNorm, attentionOutput);
    show(Tap::attentionUpdate, update);
    return update;
}

at::Tensor LayerPass::behindAttention(const at::Tensor& x, const at::Tensor& update, const at::Tensor& read) const {
    if (m_place == NormPlace::parallel) {
        const at::Tensor sum = update.defined() ? x + update : x;
        return m_layer.hasMlp ? addMlp(sum, update.defined(), read) : sum;
    }
    if (m_place == NormPlace::after) {
        at::Tensor y = update.defined() ? x + update : x;
        y = m_layer.attentionPostNorm ? m_math.normedStream(m_layer.attentionPostNorm, y) : y;
        if (m_layer.hasMlp)
            y = addMlp(y, m_layer.attentionPostNorm || update.defined(), m_math.forProduct(y));
        return m_layer.mlpPostNorm ? m_math.normedStream(m_layer.mlpPostNorm, y) : y;
    }
    if (!m_layer.hasMlp)
        return update.defined() ? x + update : x;
    if (!update.defined())
        return addMlp(x, false, m_math.normed(m_layer.mlpNorm, x));
    const auto [sum, normed] = m_math.addAndNorm(m_layer.mlpNorm, x, update);
    return addMlp(sum, true, normed);
}

at::Tensor LayerPass::mlpHidden(const at::Tensor& read) const {
    const at::Tensor projected = m_math.linear(m_layer.gateUp, read);
    at::Tensor hidden = m_math.activated(projected, m_input.spec.activation, m_input.spec.gatedMlp);
    show(Tap::mlpHidden, hidden);
    return hidden;
}

at::Tensor LayerPass::addMlp(const at::Tensor& sum, bool ownsSum, const at::Tensor& read) const {
    const bool isNormed = m_place == NormPlace::sandwich;
    const bool isWatched =
        m_watch.wants(Tap::mlpHidden) || m_watch.wants(Tap::mlpOutput) || m_watch.wants(Tap::mlpUpdate);
    if (ownsSum && !isNormed && !isWatched)
        return m_math.addMlp(sum, m_input.spec, m_layer, read,
                             m_place != NormPlace::after && !m_watch.wants(Tap::output));
    const at::Tensor hidden = mlpHidden(read);
    const at::Tensor output = m_math.linear(m_layer.down, hidden);
    show(Tap::mlpOutput, output);
    const at::Tensor update = isNormed ? m_math.normedStream(m_layer.mlpPostNorm, output) : output;
    show(Tap::mlpUpdate, update);
    return sum + update;
}

void LayerPass::show(Tap tap, const at::Tensor& values) const {
    if (m_watch.wants(tap))
        m_watch.see(tap, values);
}

} // namespace secateur
