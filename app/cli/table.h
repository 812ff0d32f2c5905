#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace secateur::cli {

/// Alignment of a column; `point` aligns decimal points.
enum class Align { left, right, point };

/// A column's title and alignment.
struct Column {
    std::string title;
    Align align = Align::left;
};

/// The rows of a table of `width` columns.
template <std::size_t width>
using Rows = std::vector<std::array<std::string, width>>;

/// A table as text, with two spaces between columns. Every row has exactly one cell for each column: a table is made
/// either of columns that each have a cell for every row, or of columns and rows whose number agrees by their types.
class Table {
public:
    /// A table without columns. @param rows number of rows below the titles
    explicit Table(std::size_t rows)
        : m_rows(rows) {}

    /// A table of columns and rows of the same width.
    template <std::size_t width>
    Table(const Column (&columns)[width], const Rows<width>& rows)
        : m_rows(rows.size()) {
        for (std::size_t i = 0; i < width; ++i)
            add(columns[i], [&](std::size_t row) { return rows[row][i]; });
    }

    /// Adds a column. @param cellOf returns the text of a row, which counts from 0
    template <typename CellOf>
    void add(Column column, const CellOf& cellOf) {
        m_columns.push_back({std::move(column), {}});
        for (std::size_t row = 0; row < m_rows; ++row)
            m_columns.back().cells.push_back(cellOf(row));
    }

    /// The titles, if any column has one, and the rows; each on a line of its own. Cells are shown as by shownLine().
    std::string text() const;

private:
    struct Filled {
        Column column;
        std::vector<std::string> cells;
    };

    std::size_t m_rows;
    std::vector<Filled> m_columns;
};

} // namespace secateur::cli
