#include "backends/engine/attention_back.h"

#include "backends/engine/attention_blocks.h"
#include "backends/engine/loop_arguments.h"

#include <ATen/ATen.h>

namespace secateur {

AttentionBack::AttentionBack(const AttentionInput& input, at::Tensor projected)
    : m_groupBegin(input.layer.groupBegin)
    , m_shape(shapeOf(input))
    , m_queryNorm(input.layer.queryNorm)
    , m_keyNorm(input.layer.keyNorm)
    , m_rotary(input.rotary)
    , m_lengths(input.lengths)
    , m_kvHeads(kvHeadOf(input.layer, at::kCPU))
    , m_projected(projected.view({input.rows, input.positions, -1})) {
    m_shape.groupBegin = nullptr; // the layer's, which may go; pull() has our own
}

at::Tensor AttentionBack::ofProjected(const at::Tensor& dContext) const {
    constexpr std::int64_t enough = 16; // pieces of work for many threads
    const std::int64_t kvHeads = m_shape.kvHeads;
    const at::Tensor result = empty(m_shape.heads + 2 * kvHeads);
    const ProjectionGradients parts{result.narrow(2, 0, m_shape.heads), result.narrow(2, m_shape.heads, kvHeads),
                                    result.narrow(2, m_shape.heads + kvHeads, kvHeads)};
    if (m_projected.size(0) * kvHeads >= enough || kvHeads == m_shape.heads)
        pull(dContext, parts);
    else {
        const ProjectionGradients apart{parts.queries, empty(m_shape.heads), empty(m_shape.heads)};
        pull(dContext, apart);
        parts.keys.zero_().index_add_(2, m_kvHeads, apart.keys);
        parts.values.zero_().index_add_(2, m_kvHeads, apart.values);
    }
    return result.view({dContext.size(0), m_projected.size(2)});
}

ProjectionGradients AttentionBack::ofParts(const at::Tensor& dContext, bool perHead) const {
    const std::int64_t keyHeads = perHead ? m_shape.heads : m_shape.kvHeads;
    const ProjectionGradients result{empty(m_shape.heads), empty(keyHeads), empty(keyHeads)};
    pull(dContext, result);
    return result;
}

at::Tensor AttentionBack::empty(std::int64_t heads) const {
    return at::empty({m_projected.size(0), m_projected.size(1), heads, m_shape.headDim}, m_projected.options());
}

void AttentionBack::pull(const at::Tensor& dContext, const ProjectionGradients& result) const {
    AttentionShape shape = m_shape;
    shape.groupBegin = m_groupBegin.data();
    attendBack(m_projected, shape, valuesOf(m_queryNorm), valuesOf(m_keyNorm), tablesOf(m_rotary), m_lengths, dContext,
               result);
}

} // namespace secateur
