#include "app/cli/table.h"

#include "analysis/base/shown_text.h"

#include <algorithm>

namespace secateur::cli {

namespace {

/// Number of characters of a text; UTF-8 continuation bytes do not count.
std::size_t widthOf(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Pads numbers on the right, so that their decimal points are aligned in a right-aligned column.
void alignPoints(std::vector<std::string>& cells) {
    const auto tail = [](const std::string& cell) {
        const std::size_t point = cell.find('.');
        return point == std::string::npos ? 0 : cell.size() - point;
    };
    std::size_t longest = 0;
    for (const std::string& cell : cells)
        longest = std::max(longest, tail(cell));
    for (std::string& cell : cells)
        cell.append(longest - tail(cell), ' ');
}

/// Appends the cells of a column to the lines. @param cells those of the title's line and of the rows
void appendColumn(std::vector<std::string>& lines, std::vector<std::string> cells, Align align, bool isFirst) {
    std::size_t width = 0;
    for (const std::string& cell : cells)
        width = std::max(width, widthOf(cell));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string space(width - widthOf(cells[i]), ' ');
        lines[i] += isFirst ? "" : "  ";
        lines[i] += align == Align::left ? cells[i] + space : space + cells[i];
    }
}

} // namespace

std::string Table::text() const {
    const bool isTitled =
        std::ranges::any_of(m_columns, [](const Filled& filled) { return !filled.column.title.empty(); });
    std::vector<std::string> lines(m_rows + (isTitled ? 1 : 0));
    for (const Filled& filled : m_columns) {
        std::vector<std::string> cells;
        for (const std::string& cell : filled.cells)
            cells.push_back(shownLine(cell));
        if (filled.column.align == Align::point)
            alignPoints(cells);
        if (isTitled)
            cells.insert(cells.begin(), shownLine(filled.column.title));
        appendColumn(lines, std::move(cells), filled.column.align, &filled == &m_columns.front());
    }
    std::string text;
    for (const std::string& line : lines)
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    return text;
}

} // namespace secateur::cli
