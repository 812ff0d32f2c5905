#include "backends/engine/layer_pass.h"

#include "analysis/base/error.h"
#include "analysis/running/scalar_type.h"
#include "backends/config/rope_divisors.h"
#include "backends/engine/attention_blocks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

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
            const at::Tensor heads = context(input);
            m_math.expect(m_layer.gateUp);
            update = attentionUpdate(m_math.linear(m_layer.output, heads));
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
    m_math.expect(m_layer.output);
    const at::Tensor projected = m_math.linear(m_layer.projections, input);
    if (m_layer.spec.attention == AttentionKind::valueOnly)
        return m_math.forProduct(m_layer.repeatsValues ? repeatedValues(projected) : projected);
    return m_math.context(projected, m_input, m_observer);
}

/// The values of KV heads [tokens, kvHeads headDim], once for each of their heads: [tokens, heads headDim].
at::Tensor LayerPass::repeatedValues(const at::Tensor& values) const {
    return values.view({values.size(0), -1, m_layer.spec.headDim})
        .index_select(1, kvHeadOf(m_layer, values.device()))
        .flatten(1);
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
    at::Tensor hidden = m_math.hiddenUnits(m_layer.gateUp, input, m_input.spec.activation, m_input.spec.gatedMlp);
    show(Tap::mlpHidden, hidden);
    return hidden;
}

at::Tensor LayerPass::addMlp(const at::Tensor& sum, bool ownsSum, const at::Tensor& input) const {
    m_math.expect(m_layer.down);
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

/// Runs a layer on one input under several masks, called variants. The contexts of the plan's heads are computed only
/// once.
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
        if (haveEqualMlp(variant, m_mask))
            return withOwnMlp(update);
        LayerMask tail = m_mask;
        tail.mlp = variant.mlp;
        tail.neurons = variant.neurons;
        tail.compensation = joinedCompensation(compensationOf(m_mask).ofAttention(), compensationOf(variant).ofMlp());
        const auto layer = m_plan.layer(m_index, tail);
        const AttentionInput input = inputOf(*layer);
        return LayerPass(m_math, input, m_noObserver).afterAttention(m_x, update, m_attentionInput);
    }

private:
    AttentionInput inputOf(const PlanLayer& layer) const {
        return {m_input.spec, layer, m_input.rows, m_input.positions, m_input.first, m_input.lengths, m_input.rotary};
    }

    /// The layer's output for an attention update and the MLP of the plan. In a parallel block the MLP does not depend
    /// on attention and is computed once.
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
        if (haveEqualAttention(variant, m_mask))
            return m_update;
        const bool cutsOnlyHeads = variant.attention == m_mask.attention && variant.alpha == m_mask.alpha &&
                                   compensationOf(variant).ofAttention() == compensationOf(m_mask).ofAttention();
        return cutsOnlyHeads && m_input.layer.spec.attention == AttentionKind::full ? withoutHeads(variant)
                                                                                    : updateOfVariantLayer(variant);
    }

    /// The attention update of a variant whose attention cut, alpha or compensation differs from the plan's. Also used
    /// for other heads if the layer's attention is not full attention.
    at::Tensor updateOfVariantLayer(const LayerMask& variant) const {
        LayerMask attention = m_mask;
        attention.attention = variant.attention;
        attention.alpha = variant.alpha;
        attention.heads = variant.heads;
        attention.compensation =
            joinedCompensation(compensationOf(variant).ofAttention(), compensationOf(m_mask).ofMlp());
        const auto layer = m_plan.layer(m_index, attention);
        if (layer->spec.attention == AttentionKind::none)
            return {};
        const AttentionInput input = inputOf(*layer);
        const LayerPass pass(m_math, input, m_noObserver);
        return pass.attentionUpdate(m_math.linear(layer->output, pass.context(m_attentionInput)));
    }

    /// The output projection of the variant's heads. If fewer heads are cut than kept, it is computed as the projection
    /// of all heads minus that of the cut heads.
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
            m_outputWeight = scaledOutputWeight();
        Linear columns;
        columns.out = m_outputWeight.size(0);
        columns.in = static_cast<std::int64_t>(heads.size()) * m_input.layer.spec.headDim;
        columns.weight = chosen(m_outputWeight, inModel).to(m_context.options());
        if (m_input.layer.output.packed && columns.in > 0)
            columns.packed = std::make_shared<PackedMatrix>(columns.weight);
        return m_math.linear(columns, chosen(m_context, heads));
    }

    /// The output projection of all heads, with the factors of the mask's compensation.
    at::Tensor scaledOutputWeight() const {
        const at::Tensor weight = m_plan.outputWeight(m_index);
        const std::vector<float>& factors = compensationOf(m_mask).headScale;
        if (factors.empty())
            return weight;
        const at::Tensor columns =
            at::tensor(at::ArrayRef<float>(factors)).repeat_interleave(m_input.layer.spec.headDim);
        return weight.to(at::kFloat) * columns.to(weight.device());
    }

    /// The columns that belong to some heads. @param all columns of all heads
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
    at::Tensor m_outputWeight; ///< [hidden, heads * headDim] for all heads of the layer, including cut heads
};

} // namespace

void runLayerVariants(const EnginePlan& plan, int layer, const LayerMath& math, const AttentionInput& input,
                      const at::Tensor& x, std::span<const LayerMask> variants, const Runner::VariantSink& sink) {
    Variants shared(plan, layer, math, input, x);
    for (std::size_t i = 0; i < variants.size(); ++i)
        sink(i, shared.run(variants[i]));
}

namespace {

/// Makes the rotary tables. Frequencies and angles are float32, as in transformers.
RotaryTable makeTable(const RotarySpec& spec, std::int64_t positions, const at::Device& device) {
    std::vector<float> frequencies;
    for (int pair = 0; pair < spec.dims / 2; ++pair)
        frequencies.push_back(static_cast<float>(inverseFrequency(spec, pair)));
    const at::Tensor angles = at::arange(positions, at::kFloat).unsqueeze(1) * at::tensor(frequencies).unsqueeze(0);
    return {angles.cos().to(device).contiguous(), angles.sin().to(device).contiguous()};
}

} // namespace

RotaryTable RotaryCache::table(const RotarySpec& spec, std::int64_t positions, const at::Device& device) const {
    if (spec.dims == 0)
        return {};
    const std::lock_guard lock(m_mutex);
    auto found = std::ranges::find(m_tables, spec, [](const auto& entry) { return entry.first; });
    if (found == m_tables.end())
        found = m_tables.insert(found, {spec, {}});
    RotaryTable& table = found->second;
    const std::int64_t made = table.cosines.defined() ? table.cosines.size(0) : 256;
    if (!table.cosines.defined() || made < positions) // doubling, so that generation seldom makes a table
        table = makeTable(spec, std::max(positions, 2 * made), device);
    return table;
}

namespace {

/// Number of KV heads of which at least one query head is kept.
int keptKvHeads(const LayerSpec& spec, const LayerMask& mask) {
    int kept = 0;
    int last = -1;
    for (int head = 0; head < spec.heads; ++head) {
        if (mask.heads[static_cast<std::size_t>(head)] && spec.kvGroup(head) != last) {
            last = spec.kvGroup(head);
            ++kept;
        }
    }
    return kept;
}

bool hasScores(const LayerSpec& spec, const LayerMask& mask) {
    return mask.block && mask.attention == AttentionCut::keep && spec.attention == AttentionKind::full;
}

} // namespace

EngineCache::EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device,
                         std::optional<int> only)
    : m_rows(rows)
    , m_capacity(capacity)
    , m_layers(spec.layers.size()) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const LayerMask& mask = plan.mask().layer(index);
        if (!hasScores(layer, mask) || only.value_or(index) != index)
            continue;
        const auto options = at::TensorOptions(device).dtype(scalarTypeOf(plan.type()));
        LayerCache& made = m_layers[static_cast<std::size_t>(index)];
        made.keys = at::zeros({rows, keptKvHeads(layer, mask), capacity, layer.headDim}, options);
        made.values = at::zeros_like(made.keys);
    }
}

std::int64_t EngineCache::bytes() const {
    std::int64_t bytes = 0;
    for (const LayerCache& layer : m_layers)
        if (layer.keys.defined())
            bytes += 2 * layer.keys.numel() * layer.keys.element_size();
    return bytes;
}

void EngineCache::begin(int row, const KvCache& from, int fromRow, int positions) {
    const auto& other = dynamic_cast<const EngineCache&>(from);
    const auto fits = [&](const EngineCache& cache, int at) {
        return at >= 0 && at < cache.m_rows && positions >= 0 && positions <= cache.m_capacity;
    };
    if (!fits(*this, row) || !fits(other, fromRow))
        throw Error(fmt::format(
            "Cannot copy {} positions of row {} of a cache of {} rows and {} positions to row {} of a cache "
            "of {} rows and {} positions",
            positions, fromRow, other.m_rows, other.m_capacity, row, m_rows, m_capacity));
    const auto kvHeads = [](const at::Tensor& kept) { return kept.defined() ? kept.size(1) : 0; };
    for (std::size_t index = 0; index < m_layers.size(); ++index) {
        const LayerCache& kept = m_layers[index];
        const LayerCache& source = other.m_layers.at(index);
        if (kvHeads(kept.keys) != kvHeads(source.keys))
            throw Error(fmt::format("The caches were made for different masks or layers: layer {} differs", index));
        if (!kept.keys.defined())
            continue;
        const auto beginning = [&](const at::Tensor& all, int at) { return all.select(0, at).narrow(1, 0, positions); };
        beginning(kept.keys, row).copy_(beginning(source.keys, fromRow));
        beginning(kept.values, row).copy_(beginning(source.values, fromRow));
    }
}

} // namespace secateur
