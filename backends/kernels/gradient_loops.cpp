#include "backends/kernels/gradient_loops.h"

#include "backends/kernels/share_out.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace secateur {

namespace {

float* headOf(const at::Tensor& gradients, std::int64_t row, std::int64_t head) {
    return gradients.data_ptr<float>() + row * gradients.stride(0) + head * gradients.stride(2);
}

void clearBehind(const at::Tensor& gradients, std::int64_t row, std::int64_t length) {
    gradients.select(0, row).narrow(0, length, gradients.size(1) - length).zero_();
}

} // namespace

void normRowsBack(const at::Tensor& x, const NormValues& norm, const at::Tensor& gradient, const at::Tensor& result) {
    const std::int64_t width = x.size(-1);
    const auto* from = x.data_ptr<float>();
    const auto* slopes = gradient.data_ptr<float>();
    auto* to = result.data_ptr<float>();
    forEachRow(width > 0 ? x.numel() / width : 0, width, [&, &loops = vectorLoops()](std::int64_t row) {
        loops.normBack(from + row * width, slopes + row * width, norm, width, to + row * width);
    });
}

void activateRowsBack(const at::Tensor& projected, Activation activation, bool gated, const at::Tensor& gradient,
                      const at::Tensor& result) {
    const std::int64_t width = gradient.size(-1);
    const std::int64_t stride = gated ? 2 * width : width;
    const auto* from = projected.data_ptr<float>();
    const auto* slopes = gradient.data_ptr<float>();
    auto* to = result.data_ptr<float>();
    forEachRow(width > 0 ? gradient.numel() / width : 0, stride, [&, &loops = vectorLoops()](std::int64_t row) {
        const std::int64_t up = row * stride + (gated ? width : 0);
        loops.activateBack(gated ? from + row * stride : nullptr, from + up, slopes + row * width, activation, width,
                           gated ? to + row * stride : nullptr, to + up);
    });
}

void attendBack(const at::Tensor& projected, const AttentionShape& shape, const NormValues& queryNorm,
                const NormValues& keyNorm, const RotaryTables& rotary, std::span<const int> lengths,
                const at::Tensor& dContext, const ProjectionGradients& result) {
    const std::int64_t positions = projected.size(1);
    const std::int64_t width = projected.size(2);
    const bool perHead = result.keys.size(2) != shape.kvHeads;
    struct Task {
        std::int64_t row;
        int keyHead;
        int head;
        int heads;
    };
    std::vector<Task> tasks;
    std::int64_t longest = 0;
    for (std::int64_t row = 0; row < projected.size(0); ++row) {
        const std::int64_t length = lengths[static_cast<std::size_t>(row)];
        longest = std::max(longest, length);
        for (const at::Tensor& gradients : {result.queries, result.keys, result.values})
            clearBehind(gradients, row, length);
        for (int group = 0; length > 0 && group < shape.kvHeads; ++group) {
            const int step = perHead ? 1 : shape.groupHeads(group);
            for (int head = shape.firstHead(group); head < shape.firstHead(group + 1); head += step)
                tasks.push_back({row, group, head, step});
        }
    }
    const VectorLoops& loops = vectorLoops();
    shareOut(std::ssize(tasks), groupBackFloats(loops, shape, longest), [&](std::int64_t i, float* scratch) {
        const Task& task = tasks[static_cast<std::size_t>(i)];
        const auto* from = projected.data_ptr<float>() + task.row * positions * width;
        const std::int64_t size = shape.headDim;
        const std::int64_t keys = perHead ? task.head : task.keyHead;
        GroupBack work;
        work.queries = from + task.head * size;
        work.keys = from + (shape.heads + task.keyHead) * size;
        work.values = work.keys + shape.kvHeads * size;
        work.stride = width;
        work.heads = task.heads;
        work.count = lengths[static_cast<std::size_t>(task.row)];
        work.queryNorm = queryNorm;
        work.keyNorm = keyNorm;
        work.rotary = rotary;
        work.dContextStride = std::int64_t{shape.heads} * size;
        work.dContext = dContext.data_ptr<float>() + task.row * positions * work.dContextStride + task.head * size;
        work.dQueries = headOf(result.queries, task.row, task.head);
        work.dQueryStride = result.queries.stride(1);
        work.dKeys = headOf(result.keys, task.row, keys);
        work.dValues = headOf(result.values, task.row, keys);
        work.dKeyStride = result.keys.stride(1);
        loops.attendBack(work, shape, scratch);
    });
}

} // namespace secateur
