#include "backends/engine/layer_adapters.h"

#include "backends/kernels/dropout.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace secateur {

namespace {

using Units = std::vector<std::int64_t>;

/// The columns of some heads or neurons of a matrix A, multiplied by the factors of a compensation.
/// @param a [rank, units * width] @param kept units, ascending @param factors of all units; empty = 1
at::Tensor columnsOf(const at::Tensor& a, std::int64_t width, const Units& kept, const std::vector<float>& factors) {
    at::Tensor columns = a;
    if (std::ssize(kept) * width != a.size(1))
        columns = a.reshape({a.size(0), -1, width}).index_select(1, at::tensor(kept).to(a.device())).flatten(1);
    if (factors.empty() || kept.empty())
        return columns;
    std::vector<float> own;
    for (const std::int64_t unit : kept)
        own.push_back(factors[static_cast<std::size_t>(unit)]);
    return columns * at::tensor(own).repeat_interleave(width).to(a.device());
}

/// The rows of some heads or neurons of a matrix B. @param b [units * width, rank]
at::Tensor rowsOf(const at::Tensor& b, std::int64_t width, const Units& kept) {
    if (std::ssize(kept) * width == b.size(0))
        return b;
    return b.reshape({-1, width, b.size(1)}).index_select(0, at::tensor(kept).to(b.device())).flatten(0, 1);
}

class AdaptedLayer {
public:
    AdaptedLayer(const PlanLayer& layer, const ModelSpec& spec, int index, const LayerMask& mask,
                 const PlanAdapters& adapters, std::uint64_t batchKey)
        : m_spec(spec)
        , m_index(index)
        , m_shape(spec.layers[static_cast<std::size_t>(index)])
        , m_mask(mask)
        , m_adapters(adapters)
        , m_key(mixedKey(mixedKey(adapters.dropoutSeed, batchKey), static_cast<std::uint64_t>(index)))
        , m_made(layer)
        , m_heads(layer.keptHeads.begin(), layer.keptHeads.end()) {
        const int perGroup = std::max(1, m_shape.heads / std::max(1, m_shape.kvHeads));
        for (const std::int64_t head : m_heads)
            if (m_kvHeads.empty() || m_kvHeads.back() != head / perGroup)
                m_kvHeads.push_back(head / perGroup);
        for (std::size_t neuron = 0; neuron < mask.neurons.size(); ++neuron)
            if (mask.neurons[neuron])
                m_neurons.push_back(static_cast<std::int64_t>(neuron));
    }

    PlanLayer make() {
        if (m_made.dropped)
            return std::move(m_made);
        if (m_made.spec.attention != AttentionKind::none)
            attention();
        if (m_made.hasMlp)
            mlp();
        norms();
        return std::move(m_made);
    }

private:
    PlanAdapters::Place place(WeightName name) const { return {m_spec.firstSharing(m_index), name}; }

    /// The tensors of a projection's update; null if it has none.
    const LowRankTensors* updateOf(WeightName name) {
        const auto found = m_adapters.updates.find(place(name));
        if (found == m_adapters.updates.end())
            return nullptr;
        m_made.leaves.push_back({name, AdapterLeaf::Part::a, found->second.a});
        m_made.leaves.push_back({name, AdapterLeaf::Part::b, found->second.b});
        return &found->second;
    }

    /// Adds an update. All updates of a projection have the same dropped input.
    void add(Linear& linear, WeightName name, const LowRankTensors& own, const at::Tensor& a, const at::Tensor& b,
             std::int64_t begin, double scale = 1) const {
        if (linear.updates.empty())
            linear.dropout = {m_adapters.dropout, mixedKey(m_key, static_cast<std::uint64_t>(name))};
        linear.updates.push_back({a.contiguous(), b.contiguous(), begin, own.scale * scale});
    }

    /// Adds the update of a projection that reads the stream. @param width outputs of a unit
    void addRows(Linear& linear, WeightName name, std::int64_t width, const Units& kept, std::int64_t begin) {
        if (const LowRankTensors* own = updateOf(name))
            add(linear, name, *own, own->a, rowsOf(own->b, width, kept), begin);
    }

    void attention() {
        using enum WeightName;
        const std::int64_t dim = m_shape.headDim;
        const bool readsHeads = m_made.spec.attention != AttentionKind::linear;
        if (m_made.spec.attention == AttentionKind::full) {
            const std::int64_t queries = std::ssize(m_heads) * dim;
            addRows(m_made.projections, query, dim, m_heads, 0);
            addRows(m_made.projections, key, dim, m_kvHeads, queries);
            addRows(m_made.projections, value, dim, m_kvHeads, queries + std::ssize(m_kvHeads) * dim);
        } else if (readsHeads)
            addRows(m_made.projections, value, dim, m_kvHeads, 0);
        if (const LowRankTensors* own = updateOf(output)) {
            at::Tensor a = own->a;
            if (readsHeads)
                a = columnsOf(a, dim, m_heads, compensationOf(m_mask).headScale);
            if (m_made.spec.attention == AttentionKind::valueOnly && !m_made.repeatsValues)
                a = folded(a);
            add(m_made.output, output, *own, a, own->b, 0, m_spec.normPlace == NormPlace::sandwich ? 1 : alpha());
        }
        compensate(m_made.output, output, dim, m_heads);
    }

    /// Adds the trained compensation of a projection. @param width inputs of a unit @param kept units, ascending
    void compensate(Linear& linear, WeightName name, std::int64_t width, const Units& kept) {
        if (const at::Tensor own = leafOf(m_adapters.factors, name, AdapterLeaf::Part::factors); own.defined()) {
            const at::Tensor factors = own.index_select(0, at::tensor(kept).to(own.device()));
            linear.inputFactors = width == 1 ? factors : factors.repeat_interleave(width);
        }
        if (const at::Tensor own = leafOf(m_adapters.biases, name, AdapterLeaf::Part::bias); own.defined())
            linear.bias = linear.bias.defined() ? linear.bias + own : own;
    }

    /// Sums the columns of the heads of each KV group, as the output projection of bypassed attention does.
    at::Tensor folded(const at::Tensor& a) const {
        const std::int64_t dim = m_shape.headDim;
        std::vector<at::Tensor> groups;
        for (std::size_t group = 0; group + 1 < m_made.groupBegin.size(); ++group) {
            const std::int64_t begin = m_made.groupBegin[group];
            const std::int64_t count = m_made.groupBegin[group + 1] - begin;
            groups.push_back(a.narrow(1, begin * dim, count * dim).reshape({a.size(0), count, dim}).sum(1));
        }
        return groups.empty() ? a : at::cat(groups, 1);
    }

    /// The factor of the attention update. It multiplies the output projection, or the norm after it.
    double alpha() const {
        const double own = m_shape.attention == AttentionKind::valueOnly ? m_shape.alpha : 1;
        return m_mask.attention == AttentionCut::bypassQk ? own * m_mask.alpha : own;
    }

    void mlp() {
        using enum WeightName;
        if (m_spec.gatedMlp)
            addRows(m_made.gateUp, gate, 1, m_neurons, 0);
        addRows(m_made.gateUp, up, 1, m_neurons, m_spec.gatedMlp ? std::ssize(m_neurons) : 0);
        if (const LowRankTensors* own = updateOf(down))
            add(m_made.down, down, *own, columnsOf(own->a, 1, m_neurons, compensationOf(m_mask).neuronScale), own->b,
                0);
        compensate(m_made.down, down, 1, m_neurons);
    }

    void norms() {
        using enum WeightName;
        const bool isSandwich = m_spec.normPlace == NormPlace::sandwich;
        train(m_made.attentionNorm, attentionNorm, attentionNormBias);
        train(m_made.mlpNorm, mlpNorm, mlpNormBias);
        train(m_made.attentionPostNorm, attentionPostNorm, attentionPostNormBias, isSandwich ? alpha() : 1);
        train(m_made.mlpPostNorm, mlpPostNorm, mlpPostNormBias);
        train(m_made.queryNorm, queryNorm, {});
        train(m_made.keyNorm, keyNorm, {});
    }

    void train(Norm& norm, WeightName weight, std::optional<WeightName> bias, double scale = 1) {
        if (!norm)
            return;
        if (const at::Tensor own = trained(weight); own.defined())
            norm.weight = (own + m_spec.normWeightOffset) * scale;
        if (bias)
            if (const at::Tensor own = trained(*bias); own.defined())
                norm.bias = own * scale;
    }

    at::Tensor trained(WeightName name) { return leafOf(m_adapters.weights, name, AdapterLeaf::Part::weight); }

    /// A trained tensor of this layer; undefined if there is none.
    at::Tensor leafOf(const std::map<PlanAdapters::Place, at::Tensor>& tensors, WeightName name,
                      AdapterLeaf::Part part) {
        const auto found = tensors.find(place(name));
        if (found == tensors.end())
            return {};
        m_made.leaves.push_back({name, part, found->second});
        return found->second;
    }

    const ModelSpec& m_spec;
    int m_index;
    const LayerSpec& m_shape; ///< of the whole layer
    const LayerMask& m_mask;
    const PlanAdapters& m_adapters;
    std::uint64_t m_key;
    PlanLayer m_made;
    Units m_heads; ///< kept units
    Units m_kvHeads;
    Units m_neurons;
};

} // namespace

std::uint64_t dropoutKeyOf(const Batch& batch) {
    std::uint64_t key = static_cast<std::uint64_t>(batch.rows);
    for (const int id : batch.ids)
        key = mixedKey(key, static_cast<std::uint64_t>(id));
    return key;
}

PlanLayer withAdapters(const PlanLayer& layer, const ModelSpec& spec, int index, const LayerMask& mask,
                       const PlanAdapters& adapters, std::uint64_t batchKey) {
    const c10::AutoGradMode recording(true); // slices of leaves are nodes of the graph
    return AdaptedLayer(layer, spec, index, mask, adapters, batchKey).make();
}

EmbeddingAndHead withAdapters(const EmbeddingAndHead& weights, const ModelSpec& spec, const PlanAdapters& adapters) {
    using enum WeightName;
    const c10::AutoGradMode recording(true);
    EmbeddingAndHead made = weights;
    const auto trained = [&](WeightName name) -> at::Tensor {
        const auto found = adapters.weights.find({-1, name});
        if (found == adapters.weights.end())
            return {};
        made.leaves.push_back({name, AdapterLeaf::Part::weight, found->second});
        return found->second;
    };
    const auto replace = [&](Linear& linear, WeightName weight, WeightName bias) {
        if (const at::Tensor own = trained(weight); own.defined())
            linear = {own.size(1), own.size(0), own, {}, {}, linear.bias};
        if (const at::Tensor own = trained(bias); own.defined())
            linear.bias = own;
    };
    if (const at::Tensor own = trained(finalNorm); own.defined())
        made.finalNorm.weight = own + spec.normWeightOffset;
    if (const at::Tensor own = trained(finalNormBias); own.defined())
        made.finalNorm.bias = own;
    replace(made.pooler, pooler, poolerBias);
    replace(made.classifierDense, classifierDense, classifierDenseBias);
    replace(made.classifier, classifier, classifierBias);
    return made;
}

} // namespace secateur
