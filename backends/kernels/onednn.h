#pragma once

#include <ATen/core/Tensor.h>

#include <dnnl.hpp>

#include <cstdint>
#include <vector>

namespace secateur::onednn {

/// What oneDNN wants to know of ATen's tensors. For sources only: pulls in both.
dnnl::engine& engine();
dnnl::memory::data_type typeOf(const at::Tensor& tensor); ///< bfloat16, else float32
dnnl::memory::desc descriptor(const at::Tensor& tensor);
dnnl::memory view(const at::Tensor& tensor);
dnnl::memory::desc plainFloats(std::vector<std::int64_t> sizes);
/// A copy in another layout.
dnnl::memory reordered(const at::Tensor& tensor, const dnnl::memory::desc& layout, dnnl::stream& stream);

/// c = a b, or c += a b, of one shape. oneDNN keeps the code that it made for a shape. Any thread may run it, several
/// at once.
class Product {
public:
    Product(const dnnl::memory::desc& a, const dnnl::memory::desc& b, const dnnl::memory::desc& c, bool adds);

    dnnl::memory::desc weights() const { return m_description.weights_desc(); }
    void run(dnnl::stream& stream, const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c) const;

private:
    dnnl::matmul::primitive_desc m_description;
    dnnl::matmul m_primitive;
};

} // namespace secateur::onednn
