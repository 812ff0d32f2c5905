#pragma once

#include <cstdint>
#include <memory>

namespace at {
class Tensor;
}

namespace secateur {

/// A weight in oneDNN's fastest layout, on the CPU. Const calls may come from any thread.
class PackedMatrix {
public:
    /// @param weight [out, in], float32 or bfloat16, of any strides; it is copied
    explicit PackedMatrix(const at::Tensor& weight);
    ~PackedMatrix();
    PackedMatrix(const PackedMatrix&) = delete;
    PackedMatrix& operator=(const PackedMatrix&) = delete;

    /// result = input weight^T, or result += input weight^T if `adds`; summed in float32.
    /// @param input [n, in] of the weight's type, contiguous
    /// @param result [n, out] float32, contiguous
    void multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const;

    std::int64_t bytes() const;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

} // namespace secateur
