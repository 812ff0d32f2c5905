#include "backends/kernels/packed_matrix.h"

#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/onednn.h"
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/stored_matrix.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

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

/// A tensor as float32. ATen's conversion of bfloat16 takes longer than a small product.
at::Tensor widened(const at::Tensor& input) {
    if (input.scalar_type() != at::kBFloat16)
        return input;
    const at::Tensor floats = at::empty(input.sizes(), at::kFloat);
    const Source from{nullptr, static_cast<const std::uint16_t*>(input.data_ptr())};
    vectorLoops().widen(from, input.numel(), floats.data_ptr<float>());
    return floats;
}

/// A product of few vectors with a weight in panels (onednn::areInPanels()). It reads the weight once. Each panel is
/// divided into pieces of its depth, so that there is enough work for all threads; the number of pieces does not depend
/// on the number of threads, so the sums do not either.
class PanelsProduct {
public:
    PanelsProduct(const memory& weights, std::int64_t in, std::int64_t out, const at::Tensor& input,
                  const at::Tensor& result, bool adds)
        : m_weights(weights.get_data_handle())
        , m_areHalves(input.scalar_type() == at::kBFloat16)
        , m_paddedIn(onednn::paddedRows(weights.get_desc()))
        , m_in(in)
        , m_out(out)
        , m_count(input.size(0))
        , m_input(widened(input))
        , m_inputs(m_input.data_ptr<float>())
        , m_results(result.data_ptr<float>())
        , m_adds(adds)
        , m_panels((out + panelOutputs - 1) / panelOutputs) {
        const std::int64_t wanted = std::max<std::int64_t>(1, enoughTasks / m_panels);
        m_depth = std::max(leastDepth, (in / wanted + leastDepth - 1) / leastDepth * leastDepth);
        m_pieces = (in + m_depth - 1) / m_depth;
    }

    void run() const {
        if (m_pieces == 1)
            return forEachInRuns(m_panels, [&](std::int64_t panel) {
                std::array<float, PackedMatrix::fewRows * panelOutputs> sums; // NOLINT(*-member-init)
                vectorLoops().multiplyPanel(product(panel, 0, sums.data()));
                write(panel, sums.data());
            });
        const std::int64_t size = m_count * panelOutputs;
        const at::Tensor all = at::empty({m_panels * m_pieces * size}, at::kFloat);
        auto* sums = all.data_ptr<float>();
        forEachInRuns(m_panels * m_pieces, [&](std::int64_t task) {
            vectorLoops().multiplyPanel(product(task / m_pieces, task % m_pieces, sums + task * size));
        });
        for (std::int64_t panel = 0; panel < m_panels; ++panel) {
            float* first = sums + panel * m_pieces * size;
            for (std::int64_t piece = 1; piece < m_pieces; ++piece)
                for (std::int64_t i = 0; i < size; ++i)
                    first[i] += first[piece * size + i];
            write(panel, first);
        }
    }

private:
    static constexpr std::int64_t panelOutputs = PanelProduct::panelOutputs;
    static constexpr std::int64_t enoughTasks = 32;
    static constexpr std::int64_t leastDepth = 128;

    PanelProduct product(std::int64_t panel, std::int64_t piece, float* sums) const {
        const std::int64_t begin = piece * m_depth;
        const std::int64_t place = (panel * m_paddedIn + begin) * panelOutputs;
        PanelProduct made;
        made.inputs = m_inputs + begin;
        made.inputStride = m_in;
        made.inputCount = static_cast<int>(m_count);
        made.depth = std::min(m_depth, m_in - begin);
        if (m_areHalves)
            made.halves = static_cast<const std::uint16_t*>(m_weights) + place;
        else
            made.floats = static_cast<const float*>(m_weights) + place;
        made.result = sums;
        return made;
    }

    /// @param sums [vectors, panelOutputs]
    void write(std::int64_t panel, const float* sums) const {
        const std::int64_t first = panel * panelOutputs;
        const std::int64_t count = std::min(panelOutputs, m_out - first);
        for (std::int64_t row = 0; row < m_count; ++row, sums += panelOutputs) {
            float* result = m_results + row * m_out + first;
            if (!m_adds)
                std::copy_n(sums, count, result);
            else
                std::transform(sums, sums + count, result, result, std::plus());
        }
    }

    const void* m_weights;
    bool m_areHalves;
    std::int64_t m_paddedIn;
    std::int64_t m_in;
    std::int64_t m_out;
    std::int64_t m_count; ///< vectors
    at::Tensor m_input;
    const float* m_inputs;
    float* m_results;
    bool m_adds;
    std::int64_t m_panels;
    std::int64_t m_depth;  ///< of a piece
    std::int64_t m_pieces; ///< of a panel
};

} // namespace

static_assert(PackedMatrix::fewRows == VectorLoops::mostVectors);

struct PackedMatrix::Parts {
    std::int64_t in;
    std::int64_t out;
    memory::data_type type;
    memory weights;
    bool isInPanels = false;
    at::Tensor plain;                 ///< the memory of `weights`, if oneDNN did not allocate it
    std::optional<StoredMatrix> rows; ///< the rows of `plain`, for few vectors

    void keepRows(const at::Tensor& weight);
    void pack(const at::Tensor& weight, const memory::desc& layout);
};

/// For processors for which oneDNN has no layout of its own: those without AVX-512 and, for bfloat16, those without
/// instructions for its products. oneDNN is then as fast with rows as with columns. Rows suit the loops of stored
/// weights.
void PackedMatrix::Parts::keepRows(const at::Tensor& weight) {
    plain = weight.clone(at::MemoryFormat::Contiguous);
    weights = onednn::view(plain.t());
    std::vector<std::int32_t> all(static_cast<std::size_t>(out));
    std::iota(all.begin(), all.end(), 0);
    const auto* bytes = static_cast<const std::byte*>(plain.data_ptr());
    const BlockType stored = type == memory::data_type::bf16 ? BlockType::bfloat16 : BlockType::float32;
    rows.emplace(std::vector{StoredMatrix::Part{stored, bytes, std::move(all), {}}}, in);
}

void PackedMatrix::Parts::pack(const at::Tensor& weight, const memory::desc& layout) {
    dnnl::stream stream(onednn::engine());
    weights = onednn::reordered(weight.t(), layout, stream);
    isInPanels = onednn::areInPanels(layout, PanelProduct::panelOutputs);
}

PackedMatrix::PackedMatrix(const at::Tensor& weight)
    : m_parts(new Parts{weight.size(1), weight.size(0), onednn::typeOf(weight), {}, false, {}, {}}) {
    const memory::desc any({m_parts->in, m_parts->out}, m_parts->type, memory::format_tag::any);
    const onednn::Product typical(inputOf(typicalRows, m_parts->in, m_parts->type), any,
                                  onednn::plainFloats({typicalRows, m_parts->out}), false);
    if (onednn::isPlain(typical.weights()))
        m_parts->keepRows(weight);
    else
        m_parts->pack(weight, typical.weights());
}

PackedMatrix::~PackedMatrix() = default;

void PackedMatrix::multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const {
    if (input.size(0) == 0)
        return;
    if (m_parts->isInPanels && input.size(0) <= fewRows)
        return PanelsProduct(m_parts->weights, m_parts->in, m_parts->out, input, result, adds).run();
    if (m_parts->rows && input.size(0) <= fewRows)
        return m_parts->rows->multiply(widened(input), result, adds);
    if (const auto weight = panels())
        return multiplyPanels(*weight, input, result, adds);
    dnnl::stream stream(onednn::engine());
    const auto product =
        productOf({input.size(0), m_parts->in, m_parts->out, m_parts->type, adds}, m_parts->weights.get_desc());
    product->run(stream, onednn::view(input), m_parts->weights, onednn::view(result));
}

std::optional<WeightPanels> PackedMatrix::panels() const {
    if (!m_parts->isInPanels || m_parts->type != memory::data_type::bf16 || !rowProducts())
        return {};
    return WeightPanels{static_cast<const std::uint16_t*>(m_parts->weights.get_data_handle()), m_parts->in,
                        onednn::paddedRows(m_parts->weights.get_desc()), m_parts->out};
}

bool PackedMatrix::hasLoops() const {
    return m_parts->isInPanels || m_parts->rows;
}

void PackedMatrix::prefetch(ThreadTeam& team) const {
    if (m_parts->rows)
        return m_parts->rows->prefetch(team);
    const ThreadTeam::Memory all(static_cast<const std::byte*>(m_parts->weights.get_data_handle()),
                                 static_cast<std::size_t>(bytes()));
    const std::size_t share = all.size() / static_cast<std::size_t>(team.size());
    for (int thread = 1; thread < team.size(); ++thread)
        team.prefetch(thread, all.subspan(share * static_cast<std::size_t>(thread), share));
}

std::int64_t PackedMatrix::bytes() const {
    return static_cast<std::int64_t>(m_parts->weights.get_desc().get_size());
}

} // namespace secateur
