#include "backends/engine/plan_layer.h"

#include "analysis/masks/projection_weight.h"
#include "analysis/running/scalar_type.h"
#include "backends/engine/stored_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Reads and converts the weights of a layer, and counts their bytes. Layer -1 stands for the weights outside of
/// layers.
class WeightReader {
public:
    WeightReader(const Model& model, int layer, const Conversion& conversion);

    /// A weight in the stored type. @throws Error if the model does not have it
    at::Tensor weight(WeightName name) const;
    /// The output or down projection with its compensation: projectionWeight(). @throws Error as weight()
    at::Tensor projection(WeightName name, const LayerCompensation& compensation) const;
    /// A weight in the stored type, on the device.
    at::Tensor table(WeightName name);
    /// A vector as float32 on the device. Undefined if the model does not have it.
    at::Tensor vector(WeightName name) const;
    /// The weights of a norm. Undefined if the model does not have it.
    Norm norm(WeightName weight, std::optional<WeightName> bias = {}, double scale = 1) const;
    /// Concatenates matrices along their outputs, and their biases likewise. A missing bias counts as zeros. Multiplies
    /// all of them by `scale`.
    Linear linear(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& biases, double scale = 1);
    /// The same for parts of the model's own weights, which may stay as the file stores them.
    Linear linear(std::span<const WeightPart> parts, const std::vector<at::Tensor>& biases);

    std::int64_t bytes() const { return m_bytes; }
    const at::Device& device() const { return m_conversion.device; }
    bool repeatsValues() const { return m_conversion.repeatsValues; }

private:
    at::ScalarType type() const;
    at::Tensor converted(const std::vector<at::Tensor>& weights, double scale) const;
    at::Tensor joined(const std::vector<at::Tensor>& biases, const std::vector<std::int64_t>& sizes) const;

    const Model& m_model;
    int m_layer;
    Conversion m_conversion;
    std::int64_t m_bytes = 0;
};

WeightReader::WeightReader(const Model& model, int layer, const Conversion& conversion)
    : m_model(model)
    , m_layer(layer)
    , m_conversion(conversion) {}

at::ScalarType WeightReader::type() const {
    return scalarTypeOf(m_conversion.type);
}

at::Tensor WeightReader::weight(WeightName name) const {
    return m_model.tensor(m_layer, name);
}

at::Tensor WeightReader::table(WeightName name) {
    const at::Tensor made = weight(name).to(m_conversion.device);
    m_bytes += made.numel() * made.element_size();
    return made;
}

at::Tensor WeightReader::projection(WeightName name, const LayerCompensation& compensation) const {
    return projectionWeight(m_model, m_layer, name, compensation);
}

at::Tensor WeightReader::vector(WeightName name) const {
    if (!m_model.has(m_layer, name))
        return {};
    return m_model.tensor(m_layer, name).to(m_conversion.device, at::kFloat);
}

Norm WeightReader::norm(WeightName name, std::optional<WeightName> biasOf, double scale) const {
    const ModelSpec& spec = m_model.spec();
    at::Tensor weight = vector(name);
    if (!weight.defined())
        return {};
    at::Tensor bias = biasOf ? vector(*biasOf) : at::Tensor();
    if (spec.normWeightOffset != 0)
        weight = weight + spec.normWeightOffset;
    if (scale != 1) {
        weight = weight * scale;
        bias = bias.defined() ? bias * scale : bias;
    }
    return {spec.norm, spec.normEpsilon, weight.contiguous(), bias.defined() ? bias.contiguous() : bias};
}

/// The matrices one below the other, in the type of the conversion, times `scale`. Each is converted at its place, so
/// that no second copy is in memory.
at::Tensor WeightReader::converted(const std::vector<at::Tensor>& weights, double scale) const {
    const auto scaled = [&](const at::Tensor& weight) {
        return scale == 1 ? weight : weight.to(m_conversion.device, at::kFloat) * scale;
    };
    if (weights.size() == 1)
        return scaled(weights.front()).to(m_conversion.device, type());
    std::int64_t rows = 0;
    for (const at::Tensor& weight : weights)
        rows += weight.size(0);
    const at::Tensor whole = at::empty({rows, weights.front().size(1)}, at::device(m_conversion.device).dtype(type()));
    std::int64_t begin = 0;
    for (const at::Tensor& weight : weights) {
        whole.narrow(0, begin, weight.size(0)).copy_(scaled(weight));
        begin += weight.size(0);
    }
    return whole;
}

Linear WeightReader::linear(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& biases,
                            double scale) {
    const at::Tensor whole = converted(weights, scale);
    Linear made;
    made.out = whole.size(0);
    made.in = whole.size(1);
    if (m_conversion.form == WeightForm::plain || whole.numel() == 0)
        made.weight = whole;
    else if (m_conversion.form == WeightForm::transposed)
        made.transposed = std::make_shared<PackedMatrix>(whole.t());
    else
        made.packed = std::make_shared<PackedMatrix>(whole);
    const PackedMatrix* packed = made.packed ? made.packed.get() : made.transposed.get();
    m_bytes += packed ? packed->bytes() : whole.numel() * whole.element_size();
    std::vector<std::int64_t> sizes;
    for (const at::Tensor& weight : weights)
        sizes.push_back(weight.size(0));
    made.bias = joined(biases, sizes);
    if (made.bias.defined() && scale != 1)
        made.bias = made.bias * scale;
    return made;
}

/// Concatenates biases. A missing one counts as zeros; undefined if all are missing.
at::Tensor WeightReader::joined(const std::vector<at::Tensor>& biases, const std::vector<std::int64_t>& sizes) const {
    if (std::ranges::none_of(biases, [](const at::Tensor& bias) { return bias.defined(); }))
        return {};
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < biases.size(); ++i)
        all.push_back(biases[i].defined() ? biases[i]
                                          : at::zeros({sizes[i]}, at::device(m_conversion.device).dtype(at::kFloat)));
    return at::cat(all);
}

using Indices = std::vector<std::int64_t>;

Indices kept(const std::vector<bool>& flags) {
    Indices indices;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i])
            indices.push_back(static_cast<std::int64_t>(i));
    return indices;
}

/// The rows that belong to some heads. @param weight [heads * headDim, ...]
at::Tensor headRows(const at::Tensor& weight, int headDim, const Indices& heads) {
    if (!weight.defined() || static_cast<std::int64_t>(heads.size()) * headDim == weight.size(0))
        return weight;
    std::vector<std::int64_t> shape = weight.sizes().vec();
    shape.front() = headDim;
    shape.insert(shape.begin(), -1);
    const at::Tensor chosen = weight.reshape(shape).index_select(0, at::tensor(heads).to(weight.device()));
    return chosen.flatten(0, 1);
}

at::Tensor headColumns(const at::Tensor& weight, int headDim, const Indices& heads) {
    return headRows(weight.t(), headDim, heads).t();
}

Linear WeightReader::linear(std::span<const WeightPart> parts, const std::vector<at::Tensor>& biases) {
    if (m_conversion.form == WeightForm::stored) {
        if (auto stored = storedMatrix(m_model, m_layer, parts)) {
            Linear made;
            made.in = stored->in();
            made.out = stored->out();
            std::vector<std::int64_t> sizes;
            for (const WeightPart& part : parts)
                sizes.push_back(part.rows(m_model, m_layer));
            made.bias = joined(biases, sizes);
            made.stored = std::move(stored);
            return made;
        }
    }
    std::vector<at::Tensor> weights;
    for (const WeightPart& part : parts) {
        const at::Tensor whole = weight(part.name);
        weights.push_back(!part.kept         ? whole
                          : part.cutsColumns ? headColumns(whole, part.unit, *part.kept)
                                             : headRows(whole, part.unit, *part.kept));
    }
    return linear(weights, biases);
}

/// The columns of a projection multiplied by the factors of their heads or neurons. @param factors empty = all are 1
/// @param columns indices of the heads or neurons whose columns `weight` has
at::Tensor scaledColumns(const at::Tensor& weight, const std::vector<float>& factors, const Indices& columns) {
    if (factors.empty() || columns.empty())
        return weight;
    std::vector<float> own;
    for (const std::int64_t column : columns)
        own.push_back(factors[static_cast<std::size_t>(column)]);
    const std::int64_t width = weight.size(1) / std::ssize(columns);
    return weight.to(at::kFloat) * at::tensor(own).repeat_interleave(width).to(weight.device());
}

/// A bias of a projection to which another one is added. @param bias undefined = 0 @param added empty = 0
at::Tensor withAdded(const at::Tensor& bias, const std::vector<float>& added, const at::Device& device) {
    if (added.empty())
        return bias;
    const at::Tensor own = at::tensor(added).to(device);
    return bias.defined() ? bias + own : own;
}

class LayerBuilder {
public:
    LayerBuilder(const Model& model, int layer, const LayerMask& mask, const Conversion& conversion)
        : m_spec(model.spec())
        , m_mask(mask)
        , m_compensation(compensationOf(mask))
        , m_reader(model, layer, conversion) {
        m_made.spec = m_spec.layers[static_cast<std::size_t>(layer)];
    }

    PlanLayer make() {
        if (!m_mask.block) {
            m_made.dropped = true;
            return std::move(m_made);
        }
        attention();
        mlp();
        m_made.bytes = m_reader.bytes();
        return std::move(m_made);
    }

private:
    /// The factor of the attention update. It is 0 if the layer has no attention.
    double alpha() const {
        const LayerSpec& spec = m_made.spec;
        if (m_mask.attention == AttentionCut::drop || spec.attention == AttentionKind::none)
            return 0;
        const double own = spec.attention == AttentionKind::valueOnly ? spec.alpha : 1;
        return m_mask.attention == AttentionCut::bypassQk ? own * m_mask.alpha : own;
    }

    void attention() {
        using enum WeightName;
        LayerSpec& spec = m_made.spec;
        const bool readsNorm = m_spec.normPlace == NormPlace::parallel && spec.ffn > 0 && m_mask.mlp;
        const double scale = alpha();
        if (m_spec.normPlace == NormPlace::after)
            m_made.attentionPostNorm = m_reader.norm(attentionPostNorm, attentionPostNormBias);
        if (scale == 0) {
            spec.attention = AttentionKind::none;
            if (readsNorm)
                m_made.attentionNorm = m_reader.norm(attentionNorm, attentionNormBias);
            return;
        }
        if (m_mask.attention == AttentionCut::bypassQk && spec.attention == AttentionKind::full)
            spec.attention = AttentionKind::valueOnly;
        m_made.repeatsValues = spec.attention == AttentionKind::valueOnly && m_reader.repeatsValues();
        m_made.attentionNorm = m_reader.norm(attentionNorm, attentionNormBias);
        // A sandwich norm would cancel the scaling of its input. Alpha is therefore multiplied into the weight of the
        // norm.
        const bool hasPostNorm = m_spec.normPlace == NormPlace::sandwich;
        if (hasPostNorm)
            m_made.attentionPostNorm = m_reader.norm(attentionPostNorm, attentionPostNormBias, scale);
        if (spec.attention == AttentionKind::linear)
            project(projection(output), hasPostNorm ? 1 : scale);
        else
            heads(hasPostNorm ? 1 : scale);
    }

    /// The output or down projection, with the weight that the compensation puts there.
    at::Tensor projection(WeightName which) const { return m_reader.projection(which, m_compensation); }

    /// Whether a projection has the model's numbers. @param factors of its columns
    bool isOfModel(WeightName which, const std::vector<float>& factors) const {
        return factors.empty() && !replacementOf(m_compensation, which);
    }

    /// A projection with the model's numbers and a bias that the compensation adds to.
    Linear ownProjection(const WeightPart& part, WeightName biasOf, const std::vector<float>& added) {
        Linear made = m_reader.linear(std::array{part}, {m_reader.vector(biasOf)});
        made.bias = withAdded(made.bias, added, m_reader.device());
        return made;
    }

    /// Converts the output projection. @param scale factor of its weights and of the model's bias, but not of the bias
    /// that the compensation adds
    void project(const at::Tensor& weight, double scale) {
        m_made.output = m_reader.linear({weight}, {m_reader.vector(WeightName::outputBias)}, scale);
        m_made.output.bias = withAdded(m_made.output.bias, m_compensation.attentionBias, m_reader.device());
    }

    void heads(double scale) {
        using enum WeightName;
        LayerSpec& spec = m_made.spec;
        const Indices queryHeads = kept(m_mask.heads);
        const int perGroup = spec.heads / std::max(1, spec.kvHeads);
        Indices kvHeads;
        for (const std::int64_t head : queryHeads) {
            const std::int64_t group = head / perGroup;
            if (kvHeads.empty() || kvHeads.back() != group) {
                kvHeads.push_back(group);
                m_made.groupBegin.push_back(static_cast<int>(m_made.keptHeads.size()));
            }
            m_made.keptHeads.push_back(static_cast<int>(head));
        }
        m_made.groupBegin.push_back(static_cast<int>(m_made.keptHeads.size()));
        const int dim = spec.headDim;
        const bool foldsOutput = spec.attention == AttentionKind::valueOnly && !m_made.repeatsValues;
        if (spec.attention == AttentionKind::valueOnly) {
            m_made.projections = m_reader.linear(std::array{WeightPart{value, dim, &kvHeads}},
                                                 {headRows(m_reader.vector(valueBias), dim, kvHeads)});
        } else {
            m_made.queryNorm = m_reader.norm(queryNorm);
            m_made.keyNorm = m_reader.norm(keyNorm);
            m_made.projections = m_reader.linear(
                std::array{WeightPart{query, dim, &queryHeads}, WeightPart{key, dim, &kvHeads},
                           WeightPart{value, dim, &kvHeads}},
                {headRows(m_reader.vector(queryBias), dim, queryHeads),
                 headRows(m_reader.vector(keyBias), dim, kvHeads), headRows(m_reader.vector(valueBias), dim, kvHeads)});
        }
        if (!foldsOutput && scale == 1 && isOfModel(output, m_compensation.headScale))
            m_made.output = ownProjection({output, dim, &queryHeads, true}, outputBias, m_compensation.attentionBias);
        else {
            const at::Tensor out =
                scaledColumns(headColumns(projection(output), dim, queryHeads), m_compensation.headScale, queryHeads);
            project(foldsOutput ? foldedOutput(out, kvHeads.size()) : out, scale);
        }
        spec.heads = static_cast<int>(queryHeads.size());
        spec.kvHeads = static_cast<int>(kvHeads.size());
    }

    /// The output projection for bypassed attention. Sums the columns of the heads of each KV group, because these
    /// heads all read the same value (see Bypass of queries and keys in resources/manual/strategies.md).
    at::Tensor foldedOutput(const at::Tensor& out, std::size_t groups) const {
        std::vector<at::Tensor> folded;
        const std::int64_t dim = m_made.spec.headDim;
        for (std::size_t group = 0; group < groups; ++group) {
            const std::int64_t begin = m_made.groupBegin[group];
            const std::int64_t count = m_made.groupBegin[group + 1] - begin;
            folded.push_back(out.narrow(1, begin * dim, count * dim).to(at::kFloat).reshape({-1, count, dim}).sum(1));
        }
        return folded.empty() ? out : at::cat(folded, 1);
    }

    void mlp() {
        using enum WeightName;
        LayerSpec& spec = m_made.spec;
        if (m_spec.normPlace == NormPlace::after && spec.ffn > 0)
            m_made.mlpPostNorm = m_reader.norm(mlpPostNorm, mlpPostNormBias);
        m_made.hasMlp = spec.ffn > 0 && m_mask.mlp;
        if (!m_made.hasMlp)
            return;
        m_made.mlpNorm = m_reader.norm(mlpNorm, mlpNormBias);
        if (m_spec.normPlace == NormPlace::sandwich)
            m_made.mlpPostNorm = m_reader.norm(mlpPostNorm, mlpPostNormBias);
        const Indices neurons = kept(m_mask.neurons);
        const auto entries = [&](WeightName name) { return headRows(m_reader.vector(name), 1, neurons); };
        if (m_spec.gatedMlp)
            m_made.gateUp = m_reader.linear(std::array{WeightPart{gate, 1, &neurons}, WeightPart{up, 1, &neurons}},
                                            {entries(gateBias), entries(upBias)});
        else
            m_made.gateUp = m_reader.linear(std::array{WeightPart{up, 1, &neurons}}, {entries(upBias)});
        if (isOfModel(down, m_compensation.neuronScale))
            m_made.down = ownProjection({down, 1, &neurons, true}, downBias, m_compensation.mlpBias);
        else {
            const at::Tensor columns = headColumns(projection(down), 1, neurons);
            const at::Tensor bias = withAdded(m_reader.vector(downBias), m_compensation.mlpBias, m_reader.device());
            m_made.down = m_reader.linear({scaledColumns(columns, m_compensation.neuronScale, neurons)}, {bias});
        }
        spec.ffn = static_cast<int>(neurons.size());
    }

    const ModelSpec& m_spec;
    const LayerMask& m_mask;
    const LayerCompensation& m_compensation;
    WeightReader m_reader;
    PlanLayer m_made;
};

} // namespace

PlanLayer makePlanLayer(const Model& model, int layer, const LayerMask& mask, const Conversion& conversion) {
    return LayerBuilder(model, layer, mask, conversion).make();
}

EmbeddingAndHead makeEmbeddingAndHead(const Model& model, const Conversion& conversion) {
    using enum WeightName;
    WeightReader reader(model, -1, conversion);
    const auto linear = [&](WeightName weight, WeightName bias) {
        using enum WeightName;
        return model.has(-1, weight) ? reader.linear(std::array{WeightPart{weight}}, {reader.vector(bias)}) : Linear();
    };
    EmbeddingAndHead weights;
    if (!conversion.device.is_cpu())
        weights.tokenEmbedding = reader.table(embedding);
    weights.positionEmbedding = reader.vector(positionEmbedding);
    weights.typeEmbedding = reader.vector(typeEmbedding);
    weights.embeddingNorm = reader.norm(embeddingNorm, embeddingNormBias);
    weights.embeddingProjection = linear(embeddingProjection, embeddingProjectionBias);
    weights.finalNorm = reader.norm(finalNorm, finalNormBias);
    weights.lmHead = linear(lmHead, lmHeadBias);
    weights.pooler = linear(pooler, poolerBias);
    weights.classifierDense = linear(classifierDense, classifierDenseBias);
    weights.classifier = linear(classifier, classifierBias);
    weights.bytes = reader.bytes();
    return weights;
}

std::int64_t expectedBytes(const ModelSpec& spec, int layer, const LayerMask& mask, ComputeType type) {
    const LayerSpec& shape = spec.layers[static_cast<std::size_t>(layer)];
    if (!mask.block)
        return 0;
    const std::int64_t heads = mask.attention == AttentionCut::drop ? 0 : mask.keptHeads();
    const std::int64_t groups = std::min<std::int64_t>(heads, shape.kvHeads);
    const std::int64_t neurons = mask.mlp ? mask.keptNeurons() : 0;
    const std::int64_t rows = 2 * (heads + groups) * shape.headDim + (spec.gatedMlp ? 3 : 2) * neurons;
    return rows * spec.hidden * (type == ComputeType::float32 ? 4 : 2);
}

} // namespace secateur
