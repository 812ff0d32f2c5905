#include "backends/kernels/packed_matrix.h"

#include "backends/kernels/onednn.h"

#include <ATen/ATen.h>

#include <map>
#include <mutex>

namespace secateur {

namespace {

using dnnl::memory;

/// The layout hardly depends on the number of rows; this many show oneDNN what is wanted.
constexpr std::int64_t typicalRows = 1024;
/// Shapes of input whose code is kept at hand.
constexpr std::size_t mostShapes = 16;

memory::desc inputOf(std::int64_t rows, std::int64_t columns, memory::data_type type) {
    return {{rows, columns}, type, memory::format_tag::ab};
}

} // namespace

struct PackedMatrix::Parts {
    std::int64_t in;
    std::int64_t out;
    memory::data_type type;
    memory weights;
    std::mutex mutex;
    std::map<std::pair<std::int64_t, bool>, std::shared_ptr<const onednn::Product>> products;

    std::shared_ptr<const onednn::Product> product(std::int64_t rows, bool adds) {
        const std::lock_guard lock(mutex);
        if (const auto found = products.find({rows, adds}); found != products.end())
            return found->second;
        if (products.size() >= mostShapes)
            products.clear();
        auto made = std::make_shared<onednn::Product>(inputOf(rows, in, type), weights.get_desc(),
                                                      onednn::plainFloats({rows, out}), adds);
        products.emplace(std::pair(rows, adds), made);
        return made;
    }
};

PackedMatrix::PackedMatrix(const at::Tensor& weight)
    : m_parts(new Parts{weight.size(1), weight.size(0), onednn::typeOf(weight), {}, {}, {}}) {
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
    m_parts->product(input.size(0), adds)->run(stream, onednn::view(input), m_parts->weights, onednn::view(result));
}

std::int64_t PackedMatrix::bytes() const {
    return static_cast<std::int64_t>(m_parts->weights.get_desc().get_size());
}

} // namespace secateur
