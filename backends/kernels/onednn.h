#pragma once

#include <ATen/core/Tensor.h>

#include <dnnl.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace secateur::onednn {

// ATen's tensors as oneDNN memory, and products by oneDNN. For sources only: includes both libraries.

dnnl::engine& engine();
dnnl::memory::data_type typeOf(const at::Tensor& tensor); ///< bfloat16, else float32
dnnl::memory::desc descriptor(const at::Tensor& tensor);
dnnl::memory view(const at::Tensor& tensor);
dnnl::memory::desc plainFloats(std::vector<std::int64_t> sizes);
/// A copy of a tensor in another layout.
dnnl::memory reordered(const at::Tensor& tensor, const dnnl::memory::desc& layout, dnnl::stream& stream);

/// Whether the numbers of a matrix are in rows or columns, not in blocks.
bool isPlain(const dnnl::memory::desc& matrix);
/// Whether a matrix is in panels of `columns` columns, one after the other, padded with zeros: [rows, columns], or for
/// bfloat16 [rows / 2, columns, 2].
bool areInPanels(const dnnl::memory::desc& matrix, std::int64_t columns);
/// Number of rows of the panels, including padding.
std::int64_t paddedRows(const dnnl::memory::desc& matrix);

/// Computes c = a b, or c += a b, for one shape. oneDNN generates code for the shape. Several threads may run it at
/// once.
class Product {
public:
    Product(const dnnl::memory::desc& a, const dnnl::memory::desc& b, const dnnl::memory::desc& c, bool adds);

    dnnl::memory::desc weights() const { return m_description.weights_desc(); }
    void run(dnnl::stream& stream, const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c) const;

private:
    dnnl::matmul::primitive_desc m_description;
    dnnl::matmul m_primitive;
};

/// The product a b in float32. a [.., m, k] and b [.., k, n] must both be bfloat16 or both float32. Both have the same
/// leading dimension, or none.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// ||sum over all pairs of a^T b||_F^2, with squares summed in float64. The matrix is never in memory as a whole.
/// @param pairs pairs of a and b, each [rows, columns] @param between called every few hundred milliseconds; may throw
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

} // namespace secateur::onednn
