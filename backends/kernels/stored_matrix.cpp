#include "backends/kernels/stored_matrix.h"

#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace secateur {

namespace {

constexpr int rowsAtOnce = 64;
constexpr std::int64_t bytesAhead = 4096; ///< least distance between what is read and what is prefetched
constexpr int mostRowsAhead = 64;         ///< very short rows are prefetched at a smaller distance
/// Columns that are summed at once, so that the vectors stay in the L1 cache. A multiple of the largest block.
constexpr std::int64_t columnsAtOnce = 2048;

/// The values of all float16 numbers. Scales are looked up, because conversions would take as long as a block's
/// products.
const float* halfValues() {
    static const std::vector<float> values = [] {
        std::vector<float> all(1 << 16);
        for (std::size_t bits = 0; bits < all.size(); ++bits)
            all[bits] = c10::detail::fp16_ieee_to_fp32_value(static_cast<std::uint16_t>(bits));
        return all;
    }();
    return values.data();
}

} // namespace

std::optional<BlockType> blockTypeNamed(std::string_view name) {
    static constexpr std::array types{std::pair{std::string_view("F16"), BlockType::float16},
                                      std::pair{std::string_view("BF16"), BlockType::bfloat16},
                                      std::pair{std::string_view("Q4_0"), BlockType::q4_0},
                                      std::pair{std::string_view("Q4_1"), BlockType::q4_1},
                                      std::pair{std::string_view("Q5_0"), BlockType::q5_0},
                                      std::pair{std::string_view("Q5_1"), BlockType::q5_1},
                                      std::pair{std::string_view("Q8_0"), BlockType::q8_0},
                                      std::pair{std::string_view("Q4_K"), BlockType::q4_k},
                                      std::pair{std::string_view("Q5_K"), BlockType::q5_k},
                                      std::pair{std::string_view("Q6_K"), BlockType::q6_k}};
    const auto found = std::ranges::find(types, name, [](const auto& type) { return type.first; });
    return found == types.end() ? std::nullopt : std::optional(found->second);
}

StoredMatrix::StoredMatrix(std::vector<Part> parts, std::int64_t columns, std::vector<std::int64_t> kept)
    : m_parts(std::move(parts))
    , m_columns(columns)
    , m_kept(std::move(kept)) {
    for (std::size_t part = 0; part < m_parts.size(); ++part) {
        const std::size_t rows = m_parts[part].rows.size();
        for (std::size_t begin = 0; begin < rows; begin += rowsAtOnce) {
            const auto count = std::min<std::size_t>(rowsAtOnce, rows - begin);
            m_tasks.push_back({part, begin, static_cast<int>(count), m_out});
            m_out += static_cast<std::int64_t>(count);
        }
        m_ranges.push_back(rangesOf(m_parts[part].type));
    }
}

std::int64_t StoredMatrix::rowBytes(const Part& part) const {
    const BlockSize size = sizeOf(part.type);
    return m_columns / size.elements * size.bytes;
}

std::vector<StoredMatrix::Range> StoredMatrix::rangesOf(BlockType type) const {
    const std::int64_t step = std::max(32, sizeOf(type).elements);
    const std::int64_t blocks = (m_columns + step - 1) / step;
    std::vector<bool> isRead(static_cast<std::size_t>(blocks), m_kept.empty());
    for (const std::int64_t column : m_kept)
        isRead[static_cast<std::size_t>(column / step)] = true;
    std::vector<Range> ranges;
    for (std::int64_t block = 0; block < blocks; ++block) {
        if (!isRead[static_cast<std::size_t>(block)])
            continue;
        const std::int64_t begin = block * step;
        const std::int64_t end = std::min(begin + step, m_columns);
        const bool continues = !ranges.empty() && ranges.back().end == begin && begin % columnsAtOnce != 0;
        if (continues)
            ranges.back().end = end;
        else
            ranges.push_back({begin, end});
    }
    return ranges;
}

std::int64_t StoredMatrix::bytes() const {
    std::int64_t bytes = 0;
    for (std::size_t part = 0; part < m_parts.size(); ++part) {
        const BlockSize size = sizeOf(m_parts[part].type);
        for (const Range& range : m_ranges[part])
            bytes += std::ssize(m_parts[part].rows) * (range.end - range.begin) / size.elements * size.bytes;
    }
    return bytes;
}

/// Input vectors at the places of the kept columns, and zeros elsewhere.
at::Tensor StoredMatrix::expanded(const at::Tensor& input) const {
    if (m_kept.empty())
        return input;
    at::Tensor all = at::zeros({input.size(0), m_columns}, at::kFloat);
    const auto* from = input.data_ptr<float>();
    auto* to = all.data_ptr<float>();
    for (std::int64_t row = 0; row < input.size(0); ++row, to += m_columns)
        for (const std::int64_t column : m_kept)
            to[column] = *from++;
    return all;
}

void StoredMatrix::run(const Task& task, const float* inputs, int count, float* sums) const {
    const Part& part = m_parts[task.part];
    const std::vector<Range>& ranges = m_ranges[task.part];
    const BlockSize size = sizeOf(part.type);
    const std::int64_t bytes = rowBytes(part);
    const auto* first = reinterpret_cast<const std::uint8_t*>(part.bytes);
    std::array<const std::uint8_t*, rowsAtOnce + mostRowsAhead> rows; // NOLINT(cppcoreguidelines-pro-type-member-init)
    BlockProduct product;
    product.type = part.type;
    product.rows = rows.data();
    product.count = task.count;
    product.ahead =
        static_cast<int>(std::clamp<std::int64_t>(bytesAhead / std::max<std::int64_t>(1, bytes) + 1, 4, mostRowsAhead));
    product.inputStride = m_columns;
    product.inputCount = count;
    product.resultStride = task.count;
    product.halves = halfValues();
    float* products = sums + task.count * count;
    for (const Range& range : ranges) {
        const std::uint8_t* begin = first + range.begin / size.elements * size.bytes;
        for (std::size_t row = 0; row < static_cast<std::size_t>(task.count + product.ahead); ++row)
            rows[row] = begin + part.rows[std::min(task.begin + row, part.rows.size() - 1)] * bytes;
        const bool isFirst = &range == ranges.data();
        product.depth = range.end - range.begin;
        product.inputs = inputs + range.begin;
        product.result = isFirst ? sums : products;
        vectorLoops().multiplyBlocks(product);
        for (int i = 0; !isFirst && i < task.count * count; ++i)
            sums[i] += products[i];
    }
}

void StoredMatrix::prefetch(ThreadTeam& team) const {
    for (int thread = 1; thread < team.size() && !m_tasks.empty(); ++thread) {
        const Task& first =
            m_tasks[m_tasks.size() * static_cast<std::size_t>(thread) / static_cast<std::size_t>(team.size())];
        const Part& part = m_parts[first.part];
        const std::int64_t begin = part.rows[first.begin] * rowBytes(part);
        const std::int64_t end = (part.rows.back() + std::int64_t{1}) * rowBytes(part);
        team.prefetch(thread, {part.bytes + begin, static_cast<std::size_t>(end - begin)});
    }
}

void StoredMatrix::multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const {
    const at::Tensor all = expanded(input);
    const auto* inputs = all.data_ptr<float>();
    auto* results = result.data_ptr<float>();
    for (std::int64_t begin = 0; begin < input.size(0); begin += VectorLoops::mostVectors) {
        const int count = static_cast<int>(std::min<std::int64_t>(VectorLoops::mostVectors, input.size(0) - begin));
        forEachInRuns(std::ssize(m_tasks), [&](std::int64_t index) {
            std::array<float, 2 * rowsAtOnce * VectorLoops::mostVectors> memory; // NOLINT(*-member-init)
            float* sums = memory.data();                                         // and products that are added to them
            const Task& task = m_tasks[static_cast<std::size_t>(index)];
            run(task, inputs + begin * m_columns, count, sums);
            for (int row = 0; row < count; ++row)
                for (int i = 0; i < task.count; ++i) {
                    float& to = results[(begin + row) * m_out + task.out + i];
                    to = sums[row * task.count + i] + (adds ? to : 0.0F);
                }
        });
    }
}

} // namespace secateur
