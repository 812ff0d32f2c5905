#include "backends/engine/attention_blocks.h"

#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

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

std::int64_t endOf(const AttentionInput& input) {
    int end = 0;
    for (std::size_t row = 0; row < input.first.size(); ++row)
        end = std::max(end, input.first[row] + input.lengths[row]);
    return end;
}

at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device) {
    std::vector<std::int64_t> groups;
    for (std::size_t group = 0; group + 1 < layer.groupBegin.size(); ++group)
        groups.resize(static_cast<std::size_t>(layer.groupBegin[group + 1]), static_cast<std::int64_t>(group));
    return at::tensor(groups, at::kLong).to(device);
}

void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input, Watch& watch) {
    constexpr std::int64_t mostScores = 1 << 24;
    constexpr std::int64_t mostQueries = 256;
    const LayerSpec& spec = input.layer.spec;
    if (spec.heads == 0)
        return;
    const std::int64_t count = input.cache ? endOf(input) : input.positions;
    const std::int64_t step = std::min(mostQueries, input.positions);
    const std::int64_t heads = std::clamp<std::int64_t>(mostScores / (input.rows * step * count), 1, spec.heads);
    const at::Tensor kvHeads = kvHeadOf(input.layer, keys.device());
    for (std::int64_t head = 0; head < spec.heads; head += heads) {
        const std::int64_t some = std::min<std::int64_t>(heads, spec.heads - head);
        const at::Tensor k = keys.narrow(2, 0, count).index_select(1, kvHeads.narrow(0, head, some));
        for (std::int64_t query = 0; query < input.positions; query += step) {
            const std::int64_t block = std::min(step, input.positions - query);
            const at::Tensor q = queries.narrow(1, head, some).narrow(2, query, block);
            const at::Tensor visible = visibleTo(input, query, block, count, keys.device());
            watch.seeAttention(head, query,
                               plainProbabilities(q, k, visible, spec.scoreScale, input.spec.scoreSoftcap));
        }
    }
}

} // namespace secateur
