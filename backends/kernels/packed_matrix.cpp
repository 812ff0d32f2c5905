#include "backends/kernels/packed_matrix.h"

#include "backends/kernels/onednn.h"

#include <ATen/ATen.h>

#include <compare>
#include <map>
#include <memory>
#include <mutex>

namespace secateur {

namespace {

using dnnl::memory;

/// Number of input rows for which oneDNN chooses the layout. The choice hardly depends on it.
constexpr std::int64_t typicalRows = 1024;
/// Maximum number of shapes whose generated code is kept.
constexpr std::size_t mostShapes = 512;

memory::desc inputOf(std::int64_t rows, std::int64_t columns, memory::data_type type) {
    return {{rows, columns}, type, memory::format_tag::ab};
}

/// The shape of a product, which determines its code and the layout of the weights.
struct Shape {
    std::int64_t rows;
    std::int64_t in;
    std::int64_t out;
    memory::data_type type;
    bool adds;
    auto operator<=>(const Shape&) const = default;
};

/// The product for a shape. Matrices of the same shape share its code. The layers of a model have few shapes, and
/// generating code takes as long as multiplying several hundred rows.
std::shared_ptr<const onednn::Product> productOf(const Shape& shape, const memory::desc& weights) {
    static std::mutex mutex;
    static std::map<Shape, std::shared_ptr<const onednn::Product>> products;
    const std::lock_guard lock(mutex);
    if (const auto found = products.find(shape); found != products.end())
        return found->second;
    if (products.size() >= mostShapes)
        products.clear();
    auto made = std::make_shared<onednn::Product>(inputOf(shape.rows, shape.in, shape.type), weights,
                                                  onednn::plainFloats({shape.rows, shape.out}), shape.adds);
    products.emplace(shape, made);
    return made;
}

} // namespace

struct PackedMatrix::Parts {
    std::int64_t in;
    std::int64_t out;
    memory::data_type type;
    memory weights;
};

PackedMatrix::PackedMatrix(const at::Tensor& weight)
    : m_parts(new Parts{weight.size(1), weight.size(0), onednn::typeOf(weight), {}}) {
    dnnl::stream stream(onednn::engine());
    const memory::desc any({m_parts->in, m_parts->out}, m_parts->type, memory::format_tag::any);
    const onednn::Product typical(inputOf(typicalRows, m_parts->in, m_parts->type), any,
                                  onednn::plainFloats({typicalRows, m_parts->out}), false);
    m_parts->weights = onednn::reordered(weight.t(), typical.weights(), stream);
}

PackedMatrix::~PackedMatrix() = default;

void PackedMatrix::multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const {
    if (input.size(0) == 0)
        return;
    dnnl::stream stream(onednn::engine());
    const auto product =
        productOf({input.size(0), m_parts->in, m_parts->out, m_parts->type, adds}, m_parts->weights.get_desc());
    product->run(stream, onednn::view(input), m_parts->weights, onednn::view(result));
}

std::int64_t PackedMatrix::bytes() const {
    return static_cast<std::int64_t>(m_parts->weights.get_desc().get_size());
}

} // namespace secateur
