#include "backends/kernels/machine_kernels.h"

#include "backends/kernels/packed_matrix.h"
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace secateur {

namespace {

/// Number of columns whose sums stay in the L1 cache.
constexpr std::int64_t blockColumns = 512;

std::int64_t blocksOf(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

class MachineTokenKernels : public TokenKernels {
public:
    at::Tensor innerProducts(const at::Tensor& x, const at::Tensor& a, const at::Tensor& z) const override {
        constexpr std::int64_t products = 6;
        const std::int64_t width = x.size(2);
        at::Tensor result = at::empty({x.size(0), x.size(1), products}, at::kDouble);
        const at::Tensor u = x.contiguous();
        const at::Tensor v = a.contiguous();
        const at::Tensor w = z.contiguous();
        const VectorLoops& loops = vectorLoops();
        at::parallel_for(0, x.size(0) * x.size(1), 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t token = begin; token < end; ++token)
                loops.innerProducts(u.data_ptr<float>() + token * width, v.data_ptr<float>() + token * width,
                                    w.data_ptr<float>() + token * width, width,
                                    result.data_ptr<double>() + token * products);
        });
        return result;
    }

    at::Tensor weightedSums(const at::Tensor& values, const at::Tensor& factors) const override {
        const std::int64_t width = values.size(2);
        const std::int64_t sums = factors.size(2);
        at::Tensor result = at::zeros({values.size(0), sums, width}, at::kDouble);
        const at::Tensor own = values.contiguous();
        const at::Tensor scales = factors.contiguous();
        const VectorLoops& loops = vectorLoops();
        const std::int64_t blocks = blocksOf(width, blockColumns);
        forEachTask(values.size(0) * blocks, 0, [&](std::int64_t task, float*) {
            const std::int64_t row = task / blocks;
            const std::int64_t begin = task % blocks * blockColumns;
            const std::int64_t count = std::min(blockColumns, width - begin);
            for (std::int64_t position = 0; position < values.size(1); ++position) {
                const std::int64_t token = row * values.size(1) + position;
                for (std::int64_t sum = 0; sum < sums; ++sum)
                    if (const double factor = scales.data_ptr<double>()[token * sums + sum]; factor != 0)
                        loops.addScaled(own.data_ptr<float>() + token * width + begin, factor, count,
                                        result.data_ptr<double>() + (row * sums + sum) * width + begin);
            }
        });
        return result;
    }

    at::Tensor columnSums(const at::Tensor& values, std::span<const int> lengths) const override {
        const std::int64_t width = values.size(2);
        const std::int64_t positions = values.size(1);
        at::Tensor result = at::zeros({values.size(0), 3, width}, at::kDouble);
        const bool isHalves = values.scalar_type() == at::kBFloat16;
        const at::Tensor own = (isHalves ? values : values.to(at::kFloat)).contiguous();
        const VectorLoops& loops = vectorLoops();
        const std::int64_t blocks = blocksOf(width, blockColumns);
        forEachTask(values.size(0) * blocks, 0, [&](std::int64_t task, float*) {
            const std::int64_t row = task / blocks;
            const std::int64_t begin = task % blocks * blockColumns;
            const std::int64_t place = (row * positions + 1) * width + begin;
            ColumnBlock block;
            if (isHalves)
                block.halves = static_cast<const std::uint16_t*>(own.data_ptr()) + place;
            else
                block.floats = own.data_ptr<float>() + place;
            block.stride = width;
            block.rows = lengths[static_cast<std::size_t>(row)] - 1;
            block.columns = std::min(blockColumns, width - begin);
            block.magnitudes = result.data_ptr<double>() + row * 3 * width + begin;
            block.sums = block.magnitudes + width;
            block.squares = block.sums + width;
            loops.addColumns(block);
        });
        return result;
    }

    at::Tensor contributions(const at::Tensor& context, const at::Tensor& weights) const override {
        return weights.scalar_type() == at::kBFloat16 ? contributionsOfHalves(context, weights)
                                                      : contributionsOfFloats(context, weights);
    }

private:
    /// Computes contributions in float32. Sums their magnitudes while the products are in the L1 cache.
    static at::Tensor contributionsOfFloats(const at::Tensor& context, const at::Tensor& weights) {
        const std::int64_t tokens = context.size(0) * context.size(1);
        const std::int64_t heads = weights.size(0);
        const std::int64_t out = weights.size(1);
        const std::int64_t depth = weights.size(2);
        const VectorLoops& loops = vectorLoops();
        const std::int64_t panels = blocksOf(out, loops.panelKeys);
        const std::int64_t packedHead = panels * loops.panelKeys * depth;
        const at::Tensor own = context.to(at::kFloat).contiguous();
        const at::Tensor matrices = weights.contiguous();
        const at::Tensor packed = at::empty({heads * packedHead}, at::kFloat);
        forEachTask(heads * panels, 0, [&](std::int64_t task, float*) {
            const std::int64_t head = task / panels;
            const std::int64_t column = task % panels * loops.panelKeys;
            loops.packKeys(matrices.data_ptr<float>() + (head * out + column) * depth, depth,
                           std::min<std::int64_t>(loops.panelKeys, out - column), static_cast<int>(depth),
                           packed.data_ptr<float>() + head * packedHead + column * depth);
        });
        at::Tensor result = at::empty({context.size(0), context.size(1), heads}, at::kDouble);
        const std::int64_t blocks = blocksOf(tokens, blockTokens);
        forEachTask(blocks * heads, 0, [&](std::int64_t task, float*) {
            const std::int64_t head = task % heads; // the heads of the same tokens follow one another
            const std::int64_t first = task / heads * blockTokens;
            MagnitudeBlock block;
            block.vectors = own.data_ptr<float>() + (first * heads + head) * depth;
            block.vectorStride = heads * depth;
            block.count = static_cast<int>(std::min(blockTokens, tokens - first));
            block.depth = depth;
            block.panels = packed.data_ptr<float>() + head * packedHead;
            block.columns = out;
            block.sums = result.data_ptr<double>() + first * heads + head;
            block.sumStride = heads;
            loops.sumMagnitudes(block);
        });
        return result;
    }

    /// Computes contributions in bfloat16 by oneDNN. A task is one head for a few tokens. The products then stay in the
    /// thread's cache until they are summed.
    static at::Tensor contributionsOfHalves(const at::Tensor& context, const at::Tensor& weights) {
        const std::int64_t tokens = context.size(0) * context.size(1);
        const std::int64_t heads = weights.size(0);
        const std::int64_t out = weights.size(1);
        const VectorLoops& loops = vectorLoops();
        std::vector<std::unique_ptr<const PackedMatrix>> matrices;
        for (std::int64_t head = 0; head < heads; ++head)
            matrices.push_back(std::make_unique<const PackedMatrix>(weights[head]));
        const at::Tensor halves = at::empty({heads, tokens, context.size(3)}, at::kBFloat16);
        halves.copy_(context.flatten(0, 1).transpose(0, 1));
        at::Tensor result = at::empty({context.size(0), context.size(1), heads}, at::kDouble);
        const std::int64_t blocks = blocksOf(tokens, blockTokens);
        forEachTask(blocks * heads, blockTokens * out, [&](std::int64_t task, float* scratch) {
            const std::int64_t head = task % heads;
            const std::int64_t first = task / heads * blockTokens;
            const std::int64_t count = std::min(blockTokens, tokens - first);
            const at::Tensor own = halves[head].narrow(0, first, count);
            matrices[static_cast<std::size_t>(head)]->multiply(own, at::from_blob(scratch, {count, out}), false);
            for (std::int64_t i = 0; i < count; ++i)
                result.data_ptr<double>()[(first + i) * heads + head] = loops.magnitudes(scratch + i * out, out);
        });
        return result;
    }

    static constexpr std::int64_t blockTokens = 192;
};

} // namespace

const TokenKernels& machineTokenKernels() {
    static const MachineTokenKernels kernels;
    return kernels;
}

} // namespace secateur
