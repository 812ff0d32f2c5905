#include "backends/export/linear_attention.h"

#include "backends/export/target_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

at::Tensor selectedRows(const at::Tensor& matrix, const std::vector<std::int64_t>& rows, std::int64_t dimension) {
    std::vector<std::int64_t> valid = rows;
    for (std::int64_t& row : valid)
        row = std::max<std::int64_t>(row, 0);
    if (matrix.size(dimension) == 0) {
        std::vector<std::int64_t> shape = matrix.sizes().vec();
        shape[static_cast<std::size_t>(dimension)] = std::ssize(rows);
        return at::zeros(shape, at::kFloat);
    }
    at::Tensor selected = matrix.index_select(dimension, at::tensor(valid, at::kLong));
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] == zeroIndex)
            selected.select(dimension, static_cast<std::int64_t>(i)).zero_();
    return selected;
}

} // namespace

at::Tensor selectedMatrix(const TensorSlot& slot, const std::vector<std::int64_t>& rows,
                          const std::optional<std::vector<std::int64_t>>& columns,
                          const std::vector<float>& columnFactors) {
    at::Tensor matrix = readSlot(slot).to(at::kFloat);
    if (columns)
        matrix = selectedRows(matrix, *columns, 1);
    matrix = selectedRows(matrix, rows, 0);
    if (!columnFactors.empty())
        matrix = matrix * at::tensor(columnFactors);
    return matrix;
}

FoldedAttention::FoldedAttention(const TensorSlot& value, const TensorSlot& output, const CutLayer& layer)
    : m_value(value)
    , m_output(output) {
    const int size = layer.spec.headDim;
    const std::vector<float>& scale = compensationOf(layer.mask).headScale;
    const double alpha = layer.spec.alpha * layer.mask.alpha;
    for (int head = 0; head < layer.spec.heads; ++head) {
        const auto at = static_cast<std::size_t>(head);
        if (!layer.mask.heads[at])
            continue;
        for (int row = 0; row < size; ++row) {
            m_valueRows.push_back(std::int64_t{layer.spec.kvGroup(head)} * size + row);
            m_columns.push_back(std::int64_t{head} * size + row);
            m_factors.push_back(static_cast<float>(alpha * (scale.empty() ? 1 : scale[at])));
        }
    }
}

at::Tensor FoldedAttention::matrix() const {
    const at::Tensor value = readSlot(m_value).to(at::kDouble).index_select(0, at::tensor(m_valueRows, at::kLong));
    const at::Tensor output = readSlot(m_output).to(at::kDouble).index_select(1, at::tensor(m_columns, at::kLong));
    return at::matmul(output * at::tensor(m_factors).to(at::kDouble), value).to(at::kFloat).contiguous();
}

} // namespace secateur
