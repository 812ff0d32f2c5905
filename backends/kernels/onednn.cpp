#include "backends/kernels/onednn.h"

#include "backends/kernels/rounding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

namespace secateur::onednn {

using dnnl::memory;

namespace {

dnnl::matmul::primitive_desc describe(const memory::desc& a, const memory::desc& b, const memory::desc& c, bool adds) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (adds) {
        dnnl::post_ops sum;
        sum.append_sum();
        attributes.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    return {engine(), a, b, c, attributes};
#else
    return {dnnl::matmul::desc(a, b, c), attributes, engine()};
#endif
}

/// Scratch memory of a product. oneDNN's own scratch memory belongs to the thread that made the primitive; two threads
/// could then not run the primitive at the same time.
memory scratchpad(const memory::desc& wanted) {
    thread_local at::Tensor room;
    const auto bytes = static_cast<std::int64_t>(wanted.get_size());
    if (!room.defined() || room.numel() < bytes)
        room = at::empty(bytes, at::kByte);
    return {wanted, engine(), room.data_ptr()};
}

} // namespace

dnnl::engine& engine() {
    static dnnl::engine processor(dnnl::engine::kind::cpu, 0);
    return processor;
}

memory::data_type typeOf(const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc descriptor(const at::Tensor& tensor) {
    return {tensor.sizes().vec(), typeOf(tensor), tensor.strides().vec()};
}

memory view(const at::Tensor& tensor) {
    return {descriptor(tensor), engine(), tensor.data_ptr()};
}

memory::desc plainFloats(std::vector<std::int64_t> sizes) {
    const auto tag = sizes.size() == 3 ? memory::format_tag::abc : memory::format_tag::ab;
    return {std::move(sizes), memory::data_type::f32, tag};
}

memory reordered(const at::Tensor& tensor, const memory::desc& layout, dnnl::stream& stream) {
    memory target(layout, engine());
    memory source = view(tensor);
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
    return target;
}

namespace {

/// The blocks within a matrix: their sizes, and the dimension that each divides.
struct InnerBlocks {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> dimensions;
    std::vector<std::int64_t> strides; ///< of the outer dimensions
    std::vector<std::int64_t> padded;  ///< sizes of the matrix
};

InnerBlocks blocksOf(const memory::desc& matrix) {
#if DNNL_VERSION_MAJOR >= 3
    if (matrix.get_format_kind() != memory::format_kind::blocked)
        return {};
    return {matrix.get_inner_blks(), matrix.get_inner_idxs(), matrix.get_strides(), matrix.get_padded_dims()};
#else
    if (matrix.data.format_kind != dnnl_blocked)
        return {};
    const auto& blocking = matrix.data.format_desc.blocking;
    const auto listed = [](const dnnl_dim_t* from, int count) { return std::vector<std::int64_t>(from, from + count); };
    return {listed(blocking.inner_blks, blocking.inner_nblks), listed(blocking.inner_idxs, blocking.inner_nblks),
            listed(blocking.strides, matrix.data.ndims), listed(matrix.data.padded_dims, matrix.data.ndims)};
#endif
}

} // namespace

bool isPlain(const memory::desc& matrix) {
    const InnerBlocks blocks = blocksOf(matrix);
    return blocks.sizes.empty() && !blocks.strides.empty();
}

bool areInPanels(const memory::desc& matrix, std::int64_t columns) {
    const auto [sizes, dimensions, strides, padded] = blocksOf(matrix);
    if (sizes.size() < 2 || sizes[1] != columns || padded.size() != 2)
        return false;
    const std::vector<std::int64_t> ofType = matrix.data_type() == memory::data_type::bf16
                                                 ? std::vector<std::int64_t>{0, 1, 0}
                                                 : std::vector<std::int64_t>{0, 1};
    const std::int64_t pairs = sizes.size() == 3 ? sizes[2] : 1;
    return dimensions == ofType && pairs == std::ssize(sizes) - 1 && strides[0] == sizes[0] * columns * pairs &&
           strides[1] == padded[0] * columns;
}

std::int64_t paddedRows(const memory::desc& matrix) {
    return blocksOf(matrix).padded.at(0);
}

Product::Product(const memory::desc& a, const memory::desc& b, const memory::desc& c, bool adds)
    : m_description(describe(a, b, c, adds))
    , m_primitive(m_description) {}

void Product::run(dnnl::stream& stream, const memory& a, const memory& b, const memory& c) const {
    m_primitive.execute(stream, {{DNNL_ARG_SRC, a},
                                 {DNNL_ARG_WEIGHTS, b},
                                 {DNNL_ARG_DST, c},
                                 {DNNL_ARG_SCRATCHPAD, scratchpad(m_description.scratchpad_desc())}});
    stream.wait();
}

namespace {

using dnnl::memory;
using Pairs = std::span<const std::pair<at::Tensor, at::Tensor>>;

/// A memory description whose layout oneDNN chooses.
memory::desc anyLayout(const at::Tensor& tensor) {
    return {tensor.sizes().vec(), typeOf(tensor), memory::format_tag::any};
}

double sumOfSquares(const at::Tensor& block) {
    const std::int64_t columns = block.size(1);
    const auto* values = block.data_ptr<float>();
    return at::parallel_reduce(
        0, block.size(0), 16, 0.0,
        [&](std::int64_t begin, std::int64_t end, double sum) {
            return sum + secateur::sumOfSquares(values + begin * columns, (end - begin) * columns);
        },
        [](double a, double b) { return a + b; });
}

/// ||sum over pairs of a^T b||_F^2. The sum is computed one block of its rows at a time.
class BlockedNorm {
public:
    /// Maximum number of rows of a block. It is large enough for full speed, and small enough for cancelling without
    /// delay.
    static constexpr std::int64_t mostColumns = 1280;

    explicit BlockedNorm(Pairs pairs)
        : m_columns(pairs.front().first.size(1))
        , m_pairs(pairs) {
        for (const auto& [left, right] : m_pairs) {
            const bool known = !m_packed.empty() && right.is_same(m_pairs[m_packed.size() - 1].second);
            m_packed.push_back(known ? m_packed.back() : packed(left, right));
        }
    }

    double of(const std::function<void()>& between) {
        double sum = 0;
        for (std::int64_t begin = 0; begin < m_columns; begin += mostColumns) {
            between();
            sum += block(begin, std::min(mostColumns, m_columns - begin));
        }
        return sum;
    }

private:
    memory packed(const at::Tensor& left, const at::Tensor& right) {
        const std::int64_t columns = std::min(mostColumns, m_columns);
        const at::Tensor transposed = at::empty({columns, left.size(0)}, left.options());
        const Product product(descriptor(transposed), anyLayout(right), plainFloats({columns, right.size(1)}), false);
        return reordered(right, product.weights(), m_stream);
    }

    double block(std::int64_t begin, std::int64_t columns) {
        const at::Tensor sum = at::empty({columns, m_pairs.front().second.size(1)}, at::kFloat);
        for (std::size_t i = 0; i < m_pairs.size(); ++i) {
            const at::Tensor& left = m_pairs[i].first;
            const at::Tensor transposed = at::empty({columns, left.size(0)}, left.options());
            memory source = view(left.narrow(1, begin, columns).t());
            memory target = view(transposed);
            dnnl::reorder(source, target).execute(m_stream, source, target);
            const Product product(descriptor(transposed), m_packed[i].get_desc(), descriptor(sum), i > 0);
            product.run(m_stream, target, m_packed[i], view(sum));
        }
        return sumOfSquares(sum);
    }

    std::int64_t m_columns;
    Pairs m_pairs;
    std::vector<memory> m_packed; ///< the right factors in packed form
    dnnl::stream m_stream{onednn::engine()};
};

at::Tensor multiplied(const at::Tensor& a, const at::Tensor& b) {
    std::vector<std::int64_t> sizes = a.sizes().vec();
    sizes.back() = b.size(-1);
    at::Tensor result = at::empty(sizes, at::kFloat);
    dnnl::stream stream(engine());
    Product(descriptor(a), descriptor(b), descriptor(result), false).run(stream, view(a), view(b), view(result));
    return result;
}

/// Whether b is a transposed view of a. Then half of their product suffices.
bool isTransposeOf(const at::Tensor& b, const at::Tensor& a) {
    const at::Tensor transposed = a.t();
    return a.data_ptr() == b.data_ptr() && transposed.sizes() == b.sizes() && transposed.strides() == b.strides();
}

/// A Gram matrix. Computes its lower half, a few rows at a time, and copies it to the upper half.
at::Tensor gramOf(const at::Tensor& rows) {
    constexpr std::int64_t step = 256;
    const std::int64_t count = rows.size(0);
    at::Tensor gram = at::empty({count, count}, at::kFloat);
    for (std::int64_t begin = 0; begin < count; begin += step) {
        const std::int64_t size = std::min(step, count - begin);
        const at::Tensor lower = multiplied(rows.narrow(0, begin, size), rows.narrow(0, 0, begin + size).t());
        gram.narrow(0, begin, size).narrow(1, 0, begin + size).copy_(lower);
        gram.narrow(0, 0, begin).narrow(1, begin, size).copy_(lower.narrow(1, 0, begin).t());
    }
    return gram;
}

} // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
    if (a.dim() == 3 && a.size(0) == 1)
        return product(a[0], b[0]).unsqueeze(0);
    return a.dim() == 2 && isTransposeOf(b, a) ? gramOf(a) : multiplied(a, b);
}

double squaredNorm(Pairs pairs, const std::function<void()>& between) {
    return BlockedNorm(pairs).of(between);
}

} // namespace secateur::onednn
