#include "backends/kernels/attention_features.h"

#include "backends/kernels/share_out.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace secateur {

namespace {

constexpr std::int64_t blockQueries = VectorLoops::blockQueries;

/// Packs the keys of one row after the other, then describes blocks of queries of all heads.
class Description {
public:
    Description(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                std::span<const AttentionFeature> wanted, const at::Tensor& features)
        : m_shape(shape)
        , m_keysAndValues(keysAndValues)
        , m_positions(queries.size(2))
        , m_queries(queries.data_ptr<float>())
        , m_wanted(wanted)
        , m_features(features.data_ptr<float>()) {}

    void run(std::int64_t row, std::int64_t first, std::int64_t length) {
        const std::int64_t keyEnd = first + length;
        const std::int64_t panels = (keyEnd + m_loops.panelKeys - 1) / m_loops.panelKeys;
        const std::int64_t groupFloats = panels * m_loops.panelKeys * m_shape.headDim;
        const at::Tensor packed = at::empty({m_shape.kvHeads * groupFloats}, at::kFloat);
        auto* floats = packed.data_ptr<float>();
        shareOut(m_shape.kvHeads * panels, 0, [&](std::int64_t task, float*) {
            const std::int64_t group = task / panels;
            const std::int64_t key = task % panels * m_loops.panelKeys;
            const std::int64_t from = ((row * m_shape.kvHeads + group) * m_keysAndValues.capacity + key);
            m_loops.packKeys(m_keysAndValues.keys + from * m_shape.headDim,
                             std::min<std::int64_t>(m_loops.panelKeys, keyEnd - key), m_shape.headDim,
                             floats + group * groupFloats + key * m_shape.headDim);
        });
        const std::int64_t blocks = (length + blockQueries - 1) / blockQueries;
        // The last blocks see most, so they go first: threads end together.
        shareOut(blocks * m_shape.heads, describedFloats(m_loops, keyEnd), [&](std::int64_t task, float* scratch) {
            const std::int64_t head = task % m_shape.heads;
            const std::int64_t begin = (blocks - 1 - task / m_shape.heads) * blockQueries;
            DescribedBlock block;
            block.queries = m_queries + ((row * m_shape.heads + head) * m_positions + begin) * m_shape.headDim;
            block.count = static_cast<int>(std::min(blockQueries, length - begin));
            block.first = first + begin;
            block.keyEnd = keyEnd;
            block.panels = floats + groupOf(head) * groupFloats;
            block.features = m_wanted.data();
            block.featureCount = static_cast<int>(m_wanted.size());
            block.featureStride = m_positions;
            block.values = m_features + (row * m_shape.heads + head) * std::ssize(m_wanted) * m_positions + begin;
            m_loops.describeBlock(block, m_shape, scratch);
        });
    }

private:
    std::int64_t groupOf(std::int64_t head) const {
        std::int64_t group = 0;
        while (m_shape.firstHead(static_cast<int>(group) + 1) <= head)
            ++group;
        return group;
    }

    const VectorLoops& m_loops = vectorLoops();
    const AttentionShape& m_shape;
    const KeyValueViews& m_keysAndValues;
    std::int64_t m_positions;
    const float* m_queries;
    std::span<const AttentionFeature> m_wanted;
    float* m_features;
};

} // namespace

void describeAttention(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                       std::span<const int> first, std::span<const int> lengths,
                       std::span<const AttentionFeature> wanted, const at::Tensor& features) {
    Description description(queries, keysAndValues, shape, wanted, features);
    for (std::size_t row = 0; row < lengths.size(); ++row)
        if (lengths[row] > 0)
            description.run(static_cast<std::int64_t>(row), first[row], lengths[row]);
}

} // namespace secateur
