#pragma once

#include "backends/kernels/block_type.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

class ThreadTeam;

/// The type with this name in a file; none if products cannot decode it.
std::optional<BlockType> blockTypeNamed(std::string_view name);

/// A weight that stays as it is in the file. Products read its blocks and decode them in registers, to the numbers that
/// dequantise() (backends/formats/quants.h) gives. For few vectors: their time is that of reading the blocks. Several
/// threads may call const functions.
class StoredMatrix {
public:
    /// Some rows of a tensor.
    struct Part {
        BlockType type;
        const std::byte* bytes;           ///< the tensor's first row; rows follow each other
        std::vector<std::int32_t> rows;   ///< indices of the rows in the tensor
        std::shared_ptr<const void> file; ///< keeps `bytes` readable
    };

    /// @param parts one below the other @param columns of the tensors @param kept columns that the weight has, in
    /// ascending order; empty = all
    StoredMatrix(std::vector<Part> parts, std::int64_t columns, std::vector<std::int64_t> kept = {});

    std::int64_t out() const { return m_out; }
    std::int64_t in() const { return m_kept.empty() ? m_columns : static_cast<std::int64_t>(m_kept.size()); }

    /// result = input weight^T, or result += input weight^T if `adds`. Sums are float32. A row of the result does not
    /// depend on the other rows.
    /// @param input [n, in] float32, contiguous @param result [n, out] float32, contiguous
    void multiply(const at::Tensor& input, const at::Tensor& result, bool adds) const;

    /// Makes each thread of a team prefetch what it will read first in a product.
    void prefetch(ThreadTeam& team) const;

    std::int64_t bytes() const; ///< that a product reads

private:
    struct Task {
        std::size_t part;
        std::size_t begin; ///< index in Part::rows
        int count;
        std::int64_t out; ///< index of the first row in the whole matrix
    };
    struct Range {
        std::int64_t begin;
        std::int64_t end;
    };

    std::int64_t rowBytes(const Part& part) const;
    /// Ranges of a part's columns, in whole blocks, outside of which no column is kept.
    std::vector<Range> rangesOf(BlockType type) const;
    at::Tensor expanded(const at::Tensor& input) const;
    void run(const Task& task, const float* inputs, int count, float* sums) const;

    std::vector<Part> m_parts;
    std::int64_t m_columns;
    std::vector<std::int64_t> m_kept;
    std::int64_t m_out = 0;
    std::vector<Task> m_tasks;
    std::vector<std::vector<Range>> m_ranges; ///< of each part
};

} // namespace secateur
