#pragma once

#include "backends/kernels/panel_products.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace at {
class Tensor;
}

namespace secateur {

class ThreadTeam;

/// A weight in the layout that is fastest for oneDNN, on the CPU. Several threads may call const functions.
class PackedMatrix {
public:
    /// Copies a weight. @param weight [out, in], float32 or bfloat16, of any strides
    explicit PackedMatrix(const at::Tensor& weight);
    ~PackedMatrix();
    PackedMatrix(const PackedMatrix&) = delete;
    PackedMatrix& operator=(const PackedMatrix&) = delete;

    /// result = input weight^T, or result += input weight^T if `adds`. Sums are float32.
    /// @param input [n, in], in the type of the weight, contiguous
    /// @param result [n, out] float32, contiguous
    void multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const;

    /// The weight for panel_products.h. Nothing if it is float32, or the processor has no such products.
    std::optional<WeightPanels> panels() const;

    std::int64_t bytes() const;

    /// Maximum number of rows of an input for which products take about as long as reading the weight.
    static constexpr std::int64_t fewRows = 8;
    /// Whether such products are loops of this program, and not of oneDNN. In the loops a row of the result does not
    /// depend on the other rows, bit by bit.
    bool hasLoops() const;
    /// Makes each thread of a team prefetch what it will read first in such a product.
    void prefetch(ThreadTeam& team) const;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

} // namespace secateur
