#include "analysis/running/scalar_type.h"
#include "backends/engine/attention_blocks.h"
#include "backends/engine/fused_attention.h"
#include "backends/engine/layer_math.h"
#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

class PlainMath : public LayerMath {
public:
    explicit PlainMath(ComputeType type)
        : m_type(scalarTypeOf(type)) {}

    at::Tensor normed(const Norm& norm, const at::Tensor& x) const override {
        return forProduct(normedStream(norm, x));
    }

    at::Tensor normedStream(const Norm& norm, const at::Tensor& x) const override {
        return plainNorm(x, norm.kind, norm.epsilon, norm.weight, norm.bias);
    }

    std::pair<at::Tensor, at::Tensor> addAndNorm(const Norm& norm, const at::Tensor& x,
                                                 const at::Tensor& added) const override {
        const at::Tensor sum = x + added;
        return {sum, normed(norm, sum)};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x.to(m_type); }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor product = at::matmul(input, linear.weight.t()).to(at::kFloat);
        return linear.bias.defined() ? product + linear.bias : product;
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const override {
        return sum + linear(wanted, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        return forProduct(plainActivation(projected, activation, gated));
    }

    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& read,
                      bool) const override {
        return addLinear(sum, layer.down, activated(linear(layer.gateUp, read), spec.activation, spec.gatedMlp));
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, Watch& watch) const override {
        const ProjectedHeads heads = projectedHeads(projected, input, watch);
        const at::Tensor q = turned(heads.queries, input.layer.queryNorm, input);
        at::Tensor k = turned(heads.keys, input.layer.keyNorm, input);
        at::Tensor v = heads.values.transpose(1, 2);
        if (input.cache)
            std::tie(k, v) = throughCache(k, v, input);
        if (watch.wantsAttention())
            showAttention(q, k, input, watch);
        showAttentionFeatures(q, k, input, watch);
        if (!heads.perHead) {
            const at::Tensor kvHeads = kvHeadOf(input.layer, projected.device());
            k = k.index_select(1, kvHeads);
            v = v.index_select(1, kvHeads);
        }
        const at::Tensor gathered = attended(q.to(m_type), k.to(m_type), v.to(m_type), input, watch);
        const at::Tensor context = gathered.transpose(1, 2).reshape({projected.size(0), -1});
        show(watch, Tap::context, context);
        return context;
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        const std::vector<std::int64_t> wanted(targets.begin(), targets.end());
        const at::Tensor indices = at::tensor(wanted, at::kLong).to(logits.device());
        const at::Tensor nats = plainCrossEntropy(logits, indices, softcap).cpu().contiguous();
        const at::Tensor isLargest = logits.argmax(-1).eq(indices).cpu().to(at::kByte).contiguous();
        std::copy_n(nats.data_ptr<float>(), nats.numel(), losses.begin());
        std::copy_n(isLargest.data_ptr<std::uint8_t>(), isLargest.numel(), greedy.begin());
    }

private:
    static void show(Watch& watch, Tap tap, const at::Tensor& values) {
        if (watch.wants(tap))
            watch.see(tap, values);
    }

    static at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionInput& input, Watch& watch) {
        const LayerSpec& spec = input.layer.spec;
        if (watch.wants(Tap::attention) || input.attentionScales.defined())
            return attendedInTheOpen(q, k, v, input, watch);
        const bool isFused = hasFusedAttention && !q.device().is_cpu() && input.spec.scoreSoftcap == 0;
        // Padding stands behind what a causal query sees.
        if (isFused && input.causal() && spec.window == 0 && !input.cache)
            return fusedAttention(q, k, v, {}, spec.scoreScale);
        const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
        if (isFused)
            return fusedAttention(q, k, v, visible, spec.scoreScale);
        return plainAttention(q, k, v, visible, spec.scoreScale, input.spec.scoreSoftcap);
    }

    /// With probabilities that can be looked at and scaled.
    static at::Tensor attendedInTheOpen(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                        const AttentionInput& input, Watch& watch) {
        const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
        at::Tensor p = plainProbabilities(q, k, visible, input.layer.spec.scoreScale, input.spec.scoreSoftcap);
        if (input.attentionScales.defined())
            p = p * input.attentionScales.view({-1, 1, 1, 1});
        show(watch, Tap::attention, p);
        return at::matmul(p, v.to(p.scalar_type())).to(q.scalar_type());
    }

    /// [rows, positions, heads, headDim] -> normed where asked, turned, [rows, heads, positions, headDim]
    static at::Tensor turned(const at::Tensor& heads, const Norm& norm, const AttentionInput& input) {
        at::Tensor x = norm ? plainNorm(heads, norm.kind, norm.epsilon, norm.weight, norm.bias) : heads;
        x = x.transpose(1, 2);
        if (!input.rotary.cosines.defined())
            return x;
        const auto rowTables = [&](const at::Tensor& table) {
            std::vector<at::Tensor> rows;
            for (const int first : input.first)
                rows.push_back(table.narrow(0, first, input.positions));
            return at::stack(rows);
        };
        return plainRotary(x, rowTables(input.rotary.cosines), rowTables(input.rotary.sines));
    }

    /// Puts keys and values behind those of the cache -> all of them.
    static std::pair<at::Tensor, at::Tensor> throughCache(const at::Tensor& k, const at::Tensor& v,
                                                          const AttentionInput& input) {
        for (std::int64_t row = 0; row < input.rows; ++row) {
            const int first = input.first[static_cast<std::size_t>(row)];
            const int length = input.lengths[static_cast<std::size_t>(row)];
            const auto place = [&](const at::Tensor& kept, const at::Tensor& added) {
                kept.select(0, row).narrow(1, first, length).copy_(added.select(0, row).narrow(1, 0, length));
            };
            place(input.cache->keys, k);
            place(input.cache->values, v);
        }
        const std::int64_t end = endOf(input);
        return {input.cache->keys.narrow(2, 0, end), input.cache->values.narrow(2, 0, end)};
    }

    at::ScalarType m_type;
};

} // namespace

std::unique_ptr<const LayerMath> plainMath(ComputeType type) {
    return std::make_unique<PlainMath>(type);
}

} // namespace secateur
