#include "backends/kernels/gradient_loops.h"

#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace secateur {

namespace {

void clearBehind(const at::Tensor& gradients, std::int64_t row, std::int64_t length) {
    gradients.select(0, row).narrow(0, length, gradients.size(1) - length).zero_();
}

/// The backward pass of attention for one batch.
class AttentionGradients {
public:
    AttentionGradients(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                       const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> lengths,
                       const at::Tensor& dContext, const ProjectionGradients& result)
        : m_projected(projected)
        , m_shape(shape)
        , m_lengths(lengths)
        , m_dContext(dContext)
        , m_result(result)
        , m_perHead(result.keys.size(2) != shape.kvHeads) {
        m_common.queryNorm = queryNorm;
        m_common.keyNorm = keyNorm;
        m_common.rotary = rotary;
        m_common.stride = projected.size(2);
        m_common.dContextStride = std::int64_t{shape.heads} * shape.headDim;
        m_common.dQueryStride = result.queries.stride(1);
        m_common.dKeyStride = result.keys.stride(1);
    }

    void run() const {
        std::vector<HeadTask> tasks;
        for (std::int64_t row = 0; row < m_projected.size(0); ++row) {
            for (const at::Tensor& gradients : {m_result.queries, m_result.keys, m_result.values})
                clearBehind(gradients, row, length(row));
            addTasks(row, tasks);
        }
        const std::int64_t longest = m_lengths.empty() ? 0 : std::ranges::max(m_lengths);
        const VectorLoops& loops = vectorLoops();
        forEachTask(std::ssize(tasks), groupBackwardFloats(loops, m_shape, longest),
                    [&](std::int64_t i, float* scratch) {
                        loops.attendBackward(groupOf(tasks[static_cast<std::size_t>(i)]), m_shape, scratch);
                    });
    }

private:
    /// Query heads of a row whose gradients of keys and values are summed.
    struct HeadTask {
        std::int64_t row;
        int group;
        int head;
        int heads;
    };

    int length(std::int64_t row) const { return m_lengths[static_cast<std::size_t>(row)]; }

    void addTasks(std::int64_t row, std::vector<HeadTask>& tasks) const {
        for (int group = 0; length(row) > 0 && group < m_shape.kvHeads; ++group) {
            const int step = m_perHead ? 1 : m_shape.groupHeads(group);
            for (int head = m_shape.firstHead(group); head < m_shape.firstHead(group + 1); head += step)
                tasks.push_back({row, group, head, step});
        }
    }

    GroupBackward groupOf(const HeadTask& task) const {
        const std::int64_t size = m_shape.headDim;
        const std::int64_t firstPosition = task.row * m_projected.size(1);
        const auto gradientOf = [&](const at::Tensor& of, int head) {
            return of.data_ptr<float>() + task.row * of.stride(0) + head * size;
        };
        const int keyHead = m_perHead ? task.head : task.group;
        const auto* from = m_projected.data_ptr<float>() + firstPosition * m_common.stride;
        GroupBackward work = m_common;
        work.queries = from + task.head * size;
        work.keys = from + (m_shape.heads + task.group) * size;
        work.values = work.keys + m_shape.kvHeads * size;
        work.heads = task.heads;
        work.count = length(task.row);
        work.dContext = m_dContext.data_ptr<float>() + firstPosition * m_common.dContextStride + task.head * size;
        work.dQueries = gradientOf(m_result.queries, task.head);
        work.dKeys = gradientOf(m_result.keys, keyHead);
        work.dValues = gradientOf(m_result.values, keyHead);
        return work;
    }

    const at::Tensor& m_projected;
    const AttentionShape& m_shape;
    std::span<const int> m_lengths;
    const at::Tensor& m_dContext;
    const ProjectionGradients& m_result;
    bool m_perHead; ///< whether each query head has its own gradients of keys and values
    GroupBackward m_common;
};

} // namespace

void normRowsBackward(const at::Tensor& x, const NormValues& norm, const at::Tensor& gradient,
                      const at::Tensor& result) {
    const std::int64_t width = x.size(-1);
    const auto* from = x.data_ptr<float>();
    const auto* dOutput = gradient.data_ptr<float>();
    auto* to = result.data_ptr<float>();
    forEachRow(width > 0 ? x.numel() / width : 0, width, [&, &loops = vectorLoops()](std::int64_t row) {
        loops.normBackward(from + row * width, dOutput + row * width, norm, width, to + row * width);
    });
}

void activateRowsBackward(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& gradient,
                          const at::Tensor& result) {
    const std::int64_t width = gradient.size(-1);
    const std::int64_t stride = gated ? 2 * width : width;
    const auto* from = projected.data_ptr<float>();
    const auto* dOutput = gradient.data_ptr<float>();
    auto* to = result.data_ptr<float>();
    forEachRow(width > 0 ? gradient.numel() / width : 0, stride, [&, &loops = vectorLoops()](std::int64_t row) {
        const std::int64_t up = row * stride + (gated ? width : 0);
        loops.activateBackward(gated ? from + row * stride : nullptr, from + up, dOutput + row * width, activation,
                               width, gated ? to + row * stride : nullptr, to + up);
    });
}

void attendBackward(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                    const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> lengths,
                    const at::Tensor& dContext, const ProjectionGradients& result) {
    AttentionGradients(projected, shape, queryNorm, keyNorm, rotary, lengths, dContext, result).run();
}

} // namespace secateur
