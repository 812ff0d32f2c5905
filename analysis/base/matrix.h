#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace secateur {

/// A matrix of doubles. Rows are layers; columns are heads, KV groups or neurons. A value per layer has one column.
/// NaN means that the cell does not exist (layers may differ in length) or is not measured yet.
class Matrix {
public:
    Matrix() = default;
    Matrix(std::size_t rows, std::size_t columns, double value = std::numeric_limits<double>::quiet_NaN())
        : m_rows(rows)
        , m_columns(columns)
        , m_values(rows * columns, value) {}

    std::size_t rows() const { return m_rows; }
    std::size_t columns() const { return m_columns; }
    bool empty() const { return m_values.empty(); }

    double& operator()(std::size_t row, std::size_t column) { return m_values[row * m_columns + column]; }
    double operator()(std::size_t row, std::size_t column) const { return m_values[row * m_columns + column]; }

    std::span<double> row(std::size_t index) { return std::span(m_values).subspan(index * m_columns, m_columns); }
    std::span<const double> row(std::size_t index) const {
        return std::span(m_values).subspan(index * m_columns, m_columns);
    }
    /// All cells, row by row.
    std::span<const double> values() const { return m_values; }
    std::span<double> values() { return m_values; }

private:
    std::size_t m_rows = 0;
    std::size_t m_columns = 0;
    std::vector<double> m_values;
};

} // namespace secateur
