#include "backends/kernels/panel_products.h"

#include "backends/kernels/amx_products.h"
#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace secateur {

namespace {

using amx::parts;
using amx::tileWidth;

constexpr std::int64_t panelOutputs = PanelProduct::panelOutputs;
static_assert(panelOutputs == PanelRows::panelTiles * tileWidth);

/// Consecutive rows of an input.
struct BlockRows {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// An input with its last terms, which do not fill a step of a tile.
class PanelInput {
public:
    PanelInput(const WeightPanels& weight, const at::Tensor& input)
        : m_weight(weight)
        , m_input(input.contiguous())
        , m_steps(weight.in / amx::stepDepth) {
        const std::int64_t rest = weight.in % amx::stepDepth;
        if (rest == 0)
            return;
        m_rests = at::zeros({input.size(0), amx::stepDepth}, input.options());
        m_rests.narrow(1, 0, rest).copy_(input.narrow(1, weight.in - rest, rest));
    }

    std::int64_t rows() const { return m_input.size(0); }

    /// The product of some rows and columns. @param first first column, a multiple of 16
    /// @param next column that is probably read next; any
    PanelRows product(const BlockRows& of, std::int64_t first, std::int64_t columns, std::int64_t next) const {
        PanelRows made;
        made.rows = static_cast<const std::uint16_t*>(m_input.data_ptr()) + of.first * m_weight.in;
        made.rowStride = m_weight.in;
        made.count = of.count;
        made.steps = m_steps;
        if (m_rests.defined())
            made.rests = static_cast<const std::uint16_t*>(m_rests.data_ptr()) + of.first * amx::stepDepth;
        made.panels = reinterpret_cast<const std::byte*>(m_weight.numbers);
        made.panelBytes = m_weight.paddedIn * panelOutputs * 2;
        made.firstTile = first / tileWidth;
        made.tiles = parts(columns, tileWidth);
        made.lastColumns = columns - (made.tiles - 1) * tileWidth;
        const std::int64_t nextPanel = next / panelOutputs;
        if (next < m_weight.out && nextPanel != first / panelOutputs)
            made.next = made.panels + nextPanel * made.panelBytes;
        return made;
    }

private:
    const WeightPanels& m_weight;
    at::Tensor m_input;
    at::Tensor m_rests;
    std::int64_t m_steps;
};

/// A block of a result.
struct ResultBlock {
    BlockRows rows;
    std::int64_t column = 0;
    std::int64_t columns = 0;
    std::int64_t nextColumn = 0; ///< of the block that this thread probably computes next
};

/// Calls body(block, scratch) for blocks that cover a matrix, on all threads. Blocks of the same columns follow one
/// another. @param floats scratch memory per row of a block
template <typename Body>
void forEachBlock(std::int64_t rows, std::int64_t columns, std::int64_t blockColumns, std::int64_t floats,
                  const Body& body) {
    constexpr std::int64_t most = 128;
    constexpr std::int64_t least = 32;
    const std::int64_t threads = threadCount();
    const std::int64_t across = parts(columns, blockColumns);
    const std::int64_t tasks = 8 * threads; // so that all threads end at about the same time
    std::int64_t height = most;
    while (height > least && across * parts(rows, height) < tasks)
        height /= 2;
    const std::int64_t down = parts(rows, height);
    forEachTask(across * down, floats * height, [&](std::int64_t task, float* scratch) {
        const std::int64_t row = task % down * height;
        const std::int64_t column = task / down * blockColumns;
        body(ResultBlock{{row, std::min(height, rows - row)},
                         column,
                         std::min(blockColumns, columns - column),
                         (task + threads) / down * blockColumns},
             scratch);
    });
}

} // namespace

void multiplyPanels(const WeightPanels& weight, const at::Tensor& input, const at::Tensor& result, bool adds) {
    const PanelInput x(weight, input);
    forEachBlock(x.rows(), weight.out, panelOutputs, 0, [&](const ResultBlock& block, float*) {
        PanelRows product = x.product(block.rows, block.column, block.columns, block.nextColumn);
        product.result = result.data_ptr<float>() + block.rows.first * weight.out + block.column;
        product.resultStride = weight.out;
        product.adds = adds;
        rowProducts()->multiplyPanels(product);
    });
}

namespace {

/// A part of a product in scratch memory, plus a bias.
class ScratchProduct {
public:
    /// @param first the first of its columns, any @param next column that is probably read next
    /// @param room [rows, roomFor(columns)]
    ScratchProduct(const PanelInput& x, const BlockRows& rows, std::int64_t first, std::int64_t columns,
                   std::int64_t next, std::int64_t stride, const float* bias, float* room)
        : m_room(room)
        , m_stride(stride)
        , m_shift(first % tileWidth) {
        PanelRows product = x.product(rows, first - m_shift, columns + m_shift, next);
        product.result = room;
        product.resultStride = stride;
        rowProducts()->multiplyPanels(product);
        for (std::int64_t i = 0; bias && i < rows.count; ++i) {
            float* sums = room + i * stride + m_shift;
            std::transform(sums, sums + columns, bias + first, sums, std::plus());
        }
    }

    /// The numbers of a row, counted from the first row of the block.
    const float* row(std::int64_t index) const { return m_room + index * m_stride + m_shift; }

    /// Number of floats for a row of `columns` columns that begin anywhere.
    static constexpr std::int64_t roomFor(std::int64_t columns) { return columns + tileWidth; }

private:
    float* m_room;
    std::int64_t m_stride;
    std::int64_t m_shift; ///< columns before the first, because tiles begin at multiples of 16
};

} // namespace

void activatePanels(const WeightPanels& weight, const at::Tensor& input, const float* bias, Activation activation,
                    bool gated, const at::Tensor& hidden) {
    constexpr std::int64_t together = 2 * panelOutputs;
    constexpr std::int64_t room = ScratchProduct::roomFor(together);
    const PanelInput x(weight, input);
    const std::int64_t width = hidden.size(1);
    const std::int64_t stride = gated ? 2 * room : room;
    const bool toHalves = hidden.scalar_type() == at::kBFloat16;
    const VectorLoops& loops = vectorLoops();
    const auto compute = [&](const ResultBlock& block, float* scratch) {
        const auto [rows, column, columns, nextColumn] = block;
        const ScratchProduct first(x, rows, column, columns, gated ? width + column : nextColumn, stride, bias,
                                   scratch);
        std::optional<ScratchProduct> up;
        if (gated)
            up.emplace(x, rows, width + column, columns, nextColumn, stride, bias, scratch + room);
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const std::int64_t place = (rows.first + i) * width + column;
            const Destination to{toHalves ? nullptr : hidden.data_ptr<float>() + place,
                                 toHalves ? static_cast<std::uint16_t*>(hidden.data_ptr()) + place : nullptr};
            loops.activate(gated ? first.row(i) : nullptr, gated ? up->row(i) : first.row(i), activation, columns, to);
        }
    };
    forEachBlock(x.rows(), width, together, stride, compute);
}

namespace {

/// The logits of one row in one block of columns.
struct BlockLogits {
    ExponentialSum all;
    bool hasTarget = false;
    bool isFirstLargest = false; ///< whether the target is the first of the largest logits of the block
};

/// The loss of a row from its blocks, in order.
void finish(std::span<const BlockLogits> blocks, float& loss, std::uint8_t& greedy) {
    float largest = -std::numeric_limits<float>::infinity();
    float largestCapped = largest;
    std::size_t best = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].all.largest > largest) {
            largest = blocks[i].all.largest;
            largestCapped = blocks[i].all.largestCapped;
            best = i;
        }
    double sum = 0;
    double target = 0;
    for (const BlockLogits& block : blocks) {
        if (block.all.sum != 0)
            sum += block.all.sum * std::exp(static_cast<double>(block.all.largestCapped) - largestCapped);
        if (block.hasTarget)
            target = block.all.targetCapped;
    }
    const double exact = std::log(sum) + (largestCapped - target);
    loss = static_cast<float>(exact);
    greedy = blocks[best].hasTarget && blocks[best].isFirstLargest && !std::isnan(exact);
}

} // namespace

void crossEntropyOfPanels(const WeightPanels& weight, const at::Tensor& input, const float* bias,
                          std::span<const int> targets, float softcap, std::span<float> losses,
                          std::span<std::uint8_t> greedy) {
    constexpr std::int64_t together = 8 * panelOutputs;
    static_assert(together <= logitBlock);
    const PanelInput x(weight, input);
    const std::int64_t across = parts(weight.out, together);
    std::vector<BlockLogits> found(static_cast<std::size_t>(x.rows() * across));
    const VectorLoops& loops = vectorLoops();
    const auto compute = [&](const ResultBlock& block, float* scratch) {
        const auto [rows, column, columns, nextColumn] = block;
        const ScratchProduct logits(x, rows, column, columns, nextColumn, together, bias, scratch);
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const auto row = static_cast<std::size_t>(rows.first + i);
            const std::int64_t target = targets[row] - column;
            if (targets[row] < 0)
                continue;
            BlockLogits& result =
                found[row * static_cast<std::size_t>(across) + static_cast<std::size_t>(column / together)];
            result.hasTarget = target >= 0 && target < columns;
            const float* own = logits.row(i);
            result.all = loops.sumExponentials(own, columns, result.hasTarget ? target : 0, softcap);
            result.isFirstLargest = result.hasTarget && own[target] == result.all.largest &&
                                    std::find(own, own + target, own[target]) == own + target;
        }
    };
    forEachBlock(x.rows(), weight.out, together, together, compute);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const auto i = static_cast<std::size_t>(row);
        losses[i] = 0;
        greedy[i] = 0;
        if (targets[i] >= 0)
            finish(std::span(found).subspan(i * static_cast<std::size_t>(across), static_cast<std::size_t>(across)),
                   losses[i], greedy[i]);
    }
}

} // namespace secateur
