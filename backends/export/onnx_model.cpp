#include "backends/export/onnx_model.h"

#include "backends/export/onnx_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// Adds the operations of an encoder to a graph. The functions return the names of their results. Hidden states are
/// [batch, sequence, hidden].
class EncoderGraph {
    using enum WeightName;
    using Indices = std::vector<std::int64_t>;
    static constexpr const char* batchSize = "batch";
    static constexpr const char* sequenceLength = "sequence";

public:
    EncoderGraph(const Model& model, const PruningMask& mask)
        : m_model(model)
        , m_spec(model.spec())
        , m_mask(mask) {
        m_graph.name = m_spec.architecture;
        for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
            m_graph.inputs.push_back({name, OnnxType::int64, {batchSize, sequenceLength}});
    }

    OnnxGraph make() {
        std::string x = embedded();
        for (int layer = 0; layer < m_spec.layerCount(); ++layer)
            x = encoderLayer(layer, x);
        outputs(x);
        return std::move(m_graph);
    }

private:
    // --- Parts of the graph.

    std::string add(std::string result, std::string operation, std::vector<std::string> inputs,
                    std::vector<OnnxAttribute> attributes = {}) {
        m_graph.nodes.push_back({std::move(operation), std::move(inputs), result, std::move(attributes)});
        return result;
    }

    /// Adds a constant unless the graph has it already.
    std::string add(OnnxTensor tensor) {
        std::string name = tensor.name;
        if (m_names.insert(name).second)
            m_graph.tensors.push_back(std::move(tensor));
        return name;
    }

    std::string number(float value) { return add(onnxNumber(fmt::format("number.{}", value), value)); }
    std::string integer(std::int64_t value) { return add(onnxNumber(fmt::format("integer.{}", value), value)); }
    std::string integers(const Indices& values) {
        return add(onnxIntegers(fmt::format("integers.{}", fmt::join(values, ".")), values));
    }
    std::string table(const std::string& name, WeightName weight) { return add(onnxTable(m_model, name, -1, weight)); }

    /// The name of a weight. Layers that share their weights have the same name.
    std::string weightName(int layer, const std::string& part, const char* kind) const {
        return layer < 0 ? fmt::format("{}.{}", part, kind)
                         : fmt::format("layers.{}.{}.{}", m_spec.storedLayer(layer), part, kind);
    }
    /// The name of a result.
    static std::string resultName(int layer, const std::string& part) {
        return layer < 0 ? part : fmt::format("layer.{}.{}", layer, part);
    }

    std::string norm(const std::string& part, int layer, const std::string& x, WeightName weight, WeightName bias) {
        if (!m_model.has(layer, weight))
            return x;
        std::vector<std::string> inputs{x, add(onnxTable(m_model, weightName(layer, part, "weight"), layer, weight))};
        if (m_model.has(layer, bias))
            inputs.push_back(add(onnxTable(m_model, weightName(layer, part, "bias"), layer, bias)));
        return add(resultName(layer, part), "LayerNormalization", std::move(inputs),
                   {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(m_spec.normEpsilon)}});
    }

    std::string linear(const std::string& part, const std::string& x, const OnnxProjection& projection) {
        const std::string name = resultName(projection.layer, part);
        const std::string weight = add(onnxWeight(m_model, weightName(projection.layer, part, "weight"), projection));
        if (!hasOnnxBias(m_model, projection))
            return add(name, "MatMul", {x, weight});
        const std::string product = add(name + ".product", "MatMul", {x, weight});
        return add(name, "Add", {product, bias(part, projection)});
    }

    std::string bias(const std::string& part, const OnnxProjection& projection) {
        return add(onnxBias(m_model, weightName(projection.layer, part, "bias"), projection));
    }

    // --- Embedding.

    std::string embedded() {
        std::string x = add("embedding.tokens", "Gather", {table("token_embedding", embedding), "input_ids"});
        if (m_spec.positions == Positions::learned)
            x = add("embedding.with_positions", "Add",
                    {x, add("embedding.positions", "Gather",
                            {table("position_embedding", positionEmbedding), positionIndices()})});
        if (m_spec.tokenTypes > 0)
            x = add("embedding.with_types", "Add",
                    {x, add("embedding.types", "Gather", {table("type_embedding", typeEmbedding), "token_type_ids"})});
        x = norm("embedding_norm", -1, x, embeddingNorm, embeddingNormBias);
        if (m_model.has(-1, embeddingProjection))
            x = linear("embedding_projection", x, {.weight = embeddingProjection, .bias = embeddingProjectionBias});
        return x;
    }

    /// Rows of the position embedding. RoBERTa counts tokens only, and padding has the row before the first position,
    /// so that padding on the left does not move them. BERT counts all positions.
    std::string positionIndices() {
        if (m_spec.firstPosition == 0) {
            const std::string shape = add("embedding.shape", "Shape", {"input_ids"});
            const std::string length = add("embedding.length", "Gather", {shape, integer(1)});
            return add("embedding.indices", "Range", {integer(0), length, integer(1)});
        }
        const std::string counts = add("embedding.counts", "CumSum", {"attention_mask", integer(1)});
        const std::string ofTokens = add("embedding.counts_of_tokens", "Mul", {counts, "attention_mask"});
        return add("embedding.indices", "Add", {ofTokens, integer(m_spec.firstPosition - 1)});
    }

    // --- Layers.

    std::string encoderLayer(int index, const std::string& x) {
        const LayerMask& mask = m_mask.layer(index);
        if (!mask.block)
            return x;
        std::string y = x;
        if (!dropsAttention(mask) && layerSpec(index).attention != AttentionKind::none)
            y = attention(index, mask, x);
        y = norm("attention_norm", index, y, attentionPostNorm, attentionPostNormBias);
        std::string z = y;
        if (!dropsMlp(mask) && layerSpec(index).ffn > 0)
            z = mlp(index, mask, y);
        return norm("mlp_norm", index, z, mlpPostNorm, mlpPostNormBias);
    }

    /// The sum of the hidden states and a sublayer. @param inner input of the sublayer's last projection; empty = all
    /// its units are cut, and only its bias is left
    std::string withSublayer(const std::string& part, const std::string& x, const std::string& inner,
                             const OnnxProjection& projection) {
        const std::string sum = resultName(projection.layer, part + ".sum");
        if (!inner.empty())
            return add(sum, "Add", {x, linear(part, inner, projection)});
        return hasOnnxBias(m_model, projection) ? add(sum, "Add", {x, bias(part, projection)}) : x;
    }

    std::string attention(int index, const LayerMask& mask, const std::string& x) {
        const LayerSpec& layer = layerSpec(index);
        const Indices units = kept(mask.heads, layer.headDim);
        const LayerCompensation& compensation = compensationOf(mask);
        const bool bypasses = mask.attention == AttentionCut::bypassQk;
        std::string inner;
        if (!units.empty())
            inner = bypasses ? linear("value", x, {index, value, valueBias, units})
                             : context(index, static_cast<std::int64_t>(units.size()) / layer.headDim, units, x);
        return withSublayer("attention_output", x, inner,
                            {.layer = index,
                             .weight = output,
                             .bias = outputBias,
                             .columns = units,
                             .factors = factorsOf(compensation.headScale, units, layer.headDim),
                             .scale = bypasses ? mask.alpha : 1,
                             .added = compensation.attentionBias,
                             .replacement = compensation.outputWeight});
    }

    /// The outputs of the heads, [batch, sequence, heads * headDim].
    std::string context(int index, std::int64_t heads, const Indices& units, const std::string& x) {
        const auto named = [&](const char* part) { return resultName(index, part); };
        const Indices inHeads{0, 2, 1, 3};
        const std::string q = split("query", heads, x, {index, query, queryBias, units}, inHeads);
        const std::string k = split("key", heads, x, {index, key, keyBias, units}, {0, 2, 3, 1});
        const std::string v = split("value", heads, x, {index, value, valueBias, units}, inHeads);
        const std::string scaled =
            add(named("scaled_query"), "Mul", {q, number(static_cast<float>(layerSpec(index).scoreScale))});
        const std::string scores = add(named("scores"), "MatMul", {scaled, k});
        const std::string masked = add(named("masked_scores"), "Add", {scores, paddingScores()});
        const std::string probabilities = add(named("attention"), "Softmax", {masked}, {{"axis", std::int64_t{-1}}});
        const std::string heading = add(named("context_by_head"), "MatMul", {probabilities, v});
        const std::string joined = add(named("context_by_token"), "Transpose", {heading}, {{"perm", inHeads}});
        return add(named("context"), "Reshape", {joined, integers({0, 0, std::ssize(units)})});
    }

    /// A projection as [batch, sequence, heads, headDim], in another order of axes.
    std::string split(const std::string& part, std::int64_t heads, const std::string& x,
                      const OnnxProjection& projection, const Indices& order) {
        const std::int64_t headDim = layerSpec(projection.layer).headDim;
        const std::string all = linear(part, x, projection);
        // In a shape for Reshape, 0 stands for the size of the input.
        const std::string name = resultName(projection.layer, part);
        const std::string byHead = add(name + ".by_head", "Reshape", {all, integers({0, 0, heads, headDim})});
        return add(name + ".heads", "Transpose", {byHead}, {{"perm", order}});
    }

    /// What is added to the attention scores: 0 for tokens and the lowest number for padding, [batch, 1, 1, sequence].
    std::string paddingScores() {
        if (!m_paddingScores.empty())
            return m_paddingScores;
        const std::string mask =
            add("padding.tokens", "Cast", {"attention_mask"}, {{"to", static_cast<std::int64_t>(OnnxType::float32)}});
        const std::string padding = add("padding.positions", "Sub", {number(1), mask});
        const std::string byKey = add("padding.by_key", "Unsqueeze", {padding, integers({1, 2})});
        m_paddingScores = add("padding.scores", "Mul", {byKey, number(std::numeric_limits<float>::lowest())});
        return m_paddingScores;
    }

    std::string mlp(int index, const LayerMask& mask, const std::string& x) {
        const Indices neurons = kept(mask.neurons);
        const LayerCompensation& compensation = compensationOf(mask);
        std::string inner;
        if (!neurons.empty())
            inner = activated(resultName(index, "mlp_hidden"), linear("mlp_up", x, {index, up, upBias, neurons}));
        return withSublayer("mlp_down", x, inner,
                            {.layer = index,
                             .weight = down,
                             .bias = downBias,
                             .columns = neurons,
                             .factors = factorsOf(compensation.neuronScale, neurons),
                             .added = compensation.mlpBias,
                             .replacement = compensation.downWeight});
    }

    std::string activated(const std::string& name, const std::string& x) {
        switch (m_spec.activation) {
        case Activation::relu:
            return add(name, "Relu", {x});
        case Activation::silu:
            return add(name, "Mul", {x, add(name + ".sigmoid", "Sigmoid", {x})});
        case Activation::geluErf:
            return halfTimes(
                name, x,
                add(name + ".erf", "Erf", {add(name + ".scaled", "Div", {x, number(std::numbers::sqrt2_v<float>)})}));
        default:
            return halfTimes(name, x, add(name + ".tanh", "Tanh", {geluArgument(name, x)}));
        }
    }

    /// x (1 + y) / 2.
    std::string halfTimes(const std::string& name, const std::string& x, const std::string& y) {
        const std::string sum = add(name + ".plus_one", "Add", {y, number(1)});
        return add(name, "Mul", {add(name + ".product", "Mul", {x, sum}), number(0.5F)});
    }

    /// sqrt(2 / pi) (x + 0.044715 x^3), the argument of the tanh in its approximation of GELU.
    std::string geluArgument(const std::string& name, const std::string& x) {
        const std::string square = add(name + ".square", "Mul", {x, x});
        const std::string cube = add(name + ".cube", "Mul", {square, x});
        const std::string small = add(name + ".small", "Mul", {cube, number(0.044715F)});
        const std::string sum = add(name + ".sum", "Add", {x, small});
        return add(name + ".scaled", "Mul", {sum, number(std::sqrt(2 * std::numbers::inv_pi_v<float>))});
    }

    // --- Kept units.

    /// The indices of the kept units; with `width`, of the rows that belong to them.
    static Indices kept(const std::vector<bool>& units, int width = 1) {
        Indices indices;
        for (std::size_t unit = 0; unit < units.size(); ++unit)
            for (std::int64_t i = 0; units[unit] && i < width; ++i)
                indices.push_back(static_cast<std::int64_t>(unit) * width + i);
        return indices;
    }

    /// The factors of the kept columns. @param factors of all units; empty = 1
    static std::vector<float> factorsOf(const std::vector<float>& factors, const Indices& columns, int width = 1) {
        std::vector<float> own;
        for (std::size_t i = 0; i < columns.size() && !factors.empty(); ++i)
            own.push_back(factors[static_cast<std::size_t>(columns[i] / width)]);
        return own;
    }

    // --- Outputs.

    void outputs(const std::string& x) {
        if (m_model.has(-1, classifier)) {
            const std::string first = classifierInput(firstToken(x));
            put("logits", linear("classifier", first, {.weight = classifier, .bias = classifierBias}),
                {batchSize, m_spec.classes});
            return;
        }
        put("last_hidden_state", x, {batchSize, sequenceLength, m_spec.hidden});
        if (m_model.has(-1, pooler))
            put("pooler_output", pooled(firstToken(x)), {batchSize, m_spec.hidden});
    }

    std::string firstToken(const std::string& x) {
        return add("first_token", "Gather", {x, integer(0)}, {{"axis", std::int64_t{1}}});
    }

    std::string pooled(const std::string& first) {
        if (!m_model.has(-1, pooler))
            return first;
        return add("pooled", "Tanh", {linear("pooler", first, {.weight = pooler, .bias = poolerBias})});
    }

    std::string classifierInput(const std::string& first) {
        if (!m_model.has(-1, classifierDense))
            return pooled(first);
        const OnnxProjection dense{.weight = classifierDense, .bias = classifierDenseBias};
        return add("classifier_hidden", "Tanh", {linear("classifier_dense", first, dense)});
    }

    /// Gives a result the name of an output. Identity costs nothing: runtimes remove it.
    void put(const std::string& name, const std::string& x,
             std::vector<std::variant<std::int64_t, std::string>> shape) {
        add(name, "Identity", {x});
        m_graph.outputs.push_back({name, OnnxType::float32, std::move(shape)});
    }

    const LayerSpec& layerSpec(int index) const { return m_spec.layers[static_cast<std::size_t>(index)]; }

    const Model& m_model;
    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    OnnxGraph m_graph;
    std::set<std::string> m_names; ///< of the constants
    std::string m_paddingScores;   ///< empty until a layer needs them
};

} // namespace

OnnxGraph onnxModel(const Model& model, const PruningMask& mask) {
    mask.checkFits(model.spec());
    return EncoderGraph(model, mask).make();
}

} // namespace secateur
