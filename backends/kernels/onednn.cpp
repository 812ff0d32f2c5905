#include "backends/kernels/onednn.h"

#include <ATen/ATen.h>

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

/// Room for what a product notes while it runs. oneDNN's own is that of the thread which made the code, so that two
/// threads could not run the same code at once.
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

} // namespace secateur::onednn
