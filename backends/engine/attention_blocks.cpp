#include "backends/engine/attention_blocks.h"

#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

ProjectedHeads projectedHeads(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) {
    const LayerSpec& spec = input.layer.spec;
    const at::Tensor all = projected.reshape({input.rows, input.positions, -1, spec.headDim});
    const auto parts = all.split_with_sizes({spec.heads, spec.kvHeads, spec.kvHeads}, 2);
    ProjectedHeads heads{parts[0], parts[1], parts[2], observer.wants(Tap::key) || observer.wants(Tap::value)};
    if (heads.perHead) {
        const at::Tensor kvHeads = kvHeadOf(input.layer, projected.device());
        heads.keys = heads.keys.index_select(2, kvHeads);
        heads.values = heads.values.index_select(2, kvHeads);
    }
    const auto show = [&](Tap tap, const at::Tensor& values) {
        if (observer.wants(tap))
            observer.see(tap, values);
    };
    show(Tap::query, heads.queries);
    show(Tap::key, heads.keys);
    show(Tap::value, heads.values);
    return heads;
}

at::Tensor visibleTo(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, std::int64_t keys,
                     const at::Device& device) {
    std::vector<int> first = input.first;
    std::vector<int> lengths = input.lengths;
    for (std::size_t row = 0; row < first.size(); ++row) {
        first[row] += static_cast<int>(firstQuery);
        lengths[row] -= static_cast<int>(firstQuery);
    }
    return visibleKeys(first, lengths, queries, keys, input.causal(), input.layer.spec.window, device);
}

std::int64_t keyCount(const AttentionInput& input) {
    int end = 0;
    for (std::size_t row = 0; row < input.first.size(); ++row)
        end = std::max(end, input.first[row] + input.lengths[row]);
    return end;
}

at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device) {
    std::vector<std::int64_t> groups;
    for (std::size_t group = 0; group + 1 < layer.groupBegin.size(); ++group)
        groups.resize(static_cast<std::size_t>(layer.groupBegin[group + 1]), static_cast<std::int64_t>(group));
    return at::tensor(groups, at::kLong).to(device, at::kLong, true); // a GPU need not finish its work before
}

namespace {

constexpr std::int64_t mostQueries = 256;

/// Computes the attention probabilities of some heads block by block. Calls visit(first head, first query,
/// probabilities, visible keys) for each block.
template <typename Visit>
void forEachBlock(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input, HeadRange wanted,
                  const Visit& visit) {
    constexpr std::int64_t mostScores = 1 << 24;
    const LayerSpec& spec = input.layer.spec;
    if (spec.heads <= wanted.first || wanted.count == 0)
        return;
    const std::int64_t end = wanted.first + std::min(wanted.count, spec.heads - wanted.first);
    const std::int64_t count = input.cache ? keyCount(input) : input.positions;
    const std::int64_t step = std::min(mostQueries, input.positions);
    const std::int64_t heads = std::clamp<std::int64_t>(mostScores / (input.rows * step * count), 1, spec.heads);
    const at::Tensor kvHeads = kvHeadOf(input.layer, keys.device());
    for (std::int64_t head = wanted.first; head < end; head += heads) {
        const std::int64_t some = std::min(heads, end - head);
        at::Tensor k = keys.narrow(2, 0, count);
        k = k.index_select(1, k.size(1) == spec.heads ? at::arange(head, head + some, kvHeads.options())
                                                      : kvHeads.narrow(0, head, some))
                .to(queries.scalar_type());
        for (std::int64_t query = 0; query < input.positions; query += step) {
            const std::int64_t block = std::min(step, input.positions - query);
            const at::Tensor q = queries.narrow(1, head, some).narrow(2, query, block);
            const at::Tensor visible = visibleTo(input, query, block, count, keys.device());
            visit(head, query, plainProbabilities(q, k, visible, spec.scoreScale, input.spec.scoreSoftcap), visible);
        }
    }
}

/// Positions of a block's queries [rows, 1, queries, 1], and the end of each row's keys [rows, 1, 1, 1].
struct Places {
    at::Tensor query;
    at::Tensor end;
};

Places placesOf(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, const at::Device& device) {
    std::vector<std::int64_t> first(input.first.begin(), input.first.end());
    std::vector<std::int64_t> end;
    for (std::size_t row = 0; row < first.size(); ++row)
        end.push_back(first[row] + input.lengths[row]);
    const auto byRow = [&](const std::vector<std::int64_t>& values) {
        return at::tensor(values, at::kLong).to(device).view({-1, 1, 1, 1});
    };
    const at::Tensor steps = at::arange(firstQuery, firstQuery + queries, byRow(end).options()).view({1, 1, -1, 1});
    return {byRow(first) + steps, byRow(end)};
}

/// A feature of the attention of each query, [rows, heads, queries]. @param p attention probabilities
at::Tensor featureOf(const AttentionFeature& feature, const at::Tensor& p, const at::Tensor& visible,
                     const Places& places) {
    const at::Tensor keys = at::arange(p.size(3), places.end.options());
    const auto sumOver = [&](const at::Tensor& terms, const at::Tensor& chosen) {
        return terms.masked_fill(chosen.logical_not(), 0).sum(-1, false, at::kDouble).to(at::kFloat);
    };
    switch (feature.kind) {
    case AttentionFeature::Kind::key:
        return sumOver(p, feature.first < 0 ? keys == places.end + feature.first : keys == feature.first);
    case AttentionFeature::Kind::band:
        return sumOver(p, (keys >= 1) & (keys >= places.query + feature.first) & (keys <= places.query + feature.last));
    case AttentionFeature::Kind::entropy:
        return sumOver(-at::xlogy(p, p), visible);
    case AttentionFeature::Kind::shiftedLog:
        return sumOver(-p * (p + feature.epsilon).log(), visible);
    case AttentionFeature::Kind::shifted:
        return sumOver(-(p + feature.epsilon) * (p + feature.epsilon).log(), visible);
    }
    return {};
}

} // namespace

void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                   TapObserver& observer) {
    forEachBlock(queries, keys, input, observer.attentionHeads(),
                 [&](std::int64_t head, std::int64_t query, const at::Tensor& probabilities, const at::Tensor&) {
                     observer.seeAttention(head, query, probabilities);
                 });
}

void showAttentionFeatures(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                           TapObserver& observer) {
    const std::span<const AttentionFeature> wanted = observer.attentionFeatures();
    if (wanted.empty() || input.layer.spec.heads == 0)
        return;
    const at::Tensor features =
        at::empty({input.rows, input.layer.spec.heads, std::ssize(wanted), input.positions}, queries.options());
    forEachBlock(queries, keys, input, {},
                 [&](std::int64_t head, std::int64_t query, const at::Tensor& p, const at::Tensor& visible) {
                     const Places places = placesOf(input, query, p.size(2), p.device());
                     const at::Tensor block = features.narrow(1, head, p.size(1)).narrow(3, query, p.size(2));
                     for (std::size_t i = 0; i < wanted.size(); ++i)
                         block.select(2, static_cast<std::int64_t>(i)).copy_(featureOf(wanted[i], p, visible, places));
                 });
    observer.seeAttentionFeatures(features);
}

} // namespace secateur
