#include "analysis/figures/table_text.h"

#include "analysis/base/replaceable.h"
#include "analysis/base/text.h"
#include "analysis/figures/table_marks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

constexpr std::string_view tableGap = "–";
constexpr std::string_view minusSign = "−";
constexpr double mostPlain = 1e7; ///< larger numbers have an exponent

/// Inserts commas between thousands. @param digits digits, with or without decimals
std::string withThousands(std::string digits) {
    const auto end = static_cast<std::ptrdiff_t>(std::min(digits.find('.'), digits.size()));
    for (std::ptrdiff_t at = end - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

/// A number with a sign only if a digit other than 0 is shown.
std::string tableNumber(double value, const TableColumn& column) {
    if (std::isinf(value))
        return value < 0 ? std::string(minusSign) + "∞" : "∞";
    const double size = std::abs(value);
    std::string digits = size >= mostPlain && !column.hasThousands ? fmt::format("{:.2e}", size)
                                                                   : fmt::format("{:.{}f}", size, column.decimals);
    const bool isZero = digits.find_first_not_of("0.") == std::string::npos;
    if (column.hasThousands)
        digits = withThousands(std::move(digits));
    return value < 0 && !isZero ? std::string(minusSign) + digits : digits;
}

constexpr std::array markdownEscapes{TextPair{"\\", "\\\\"}, TextPair{"|", "\\|"},  TextPair{"*", "\\*"},
                                     TextPair{"`", "\\`"},   TextPair{"<", "&lt;"}, TextPair{"&", "&amp;"},
                                     TextPair{"\r\n", " "},  TextPair{"\n", " "}};

std::string markedText(std::string_view mark, const std::string& command) {
    return std::string(mark) + (command.empty() ? "" : ": " + command);
}

std::string markdownLine(const std::vector<std::string>& cells) {
    return "| " + join(cells, " | ") + " |\n";
}

std::string markdownCell(const TableColumn& column, const TableCell& cell, bool isPublished) {
    const std::string text = withReplacements(cellText(column, cell), markdownEscapes);
    if (text.empty() || text == tableGap)
        return text;
    const std::string_view mark = cell.isBest ? "**" : isPublished ? "*" : "";
    return fmt::format("{0}{1}{0}", mark, text);
}

} // namespace

std::string withReplacements(std::string_view text, std::span<const TextPair> by) {
    std::string result;
    while (!text.empty()) {
        const auto found = std::ranges::find_if(by, [&](const auto& pair) { return text.starts_with(pair.first); });
        result += found == by.end() ? text.substr(0, 1) : found->second;
        text.remove_prefix(found == by.end() ? 1 : found->first.size());
    }
    return result;
}

std::string markLine(const Figure& figure) {
    constexpr std::array ends{TextPair{"-->", "-- >"}, TextPair{"\n", " "}}; // of a comment
    return markedText(tableMark, withReplacements(figure.command, ends));
}

bool hasColumnGroups(const FigureTable& table) {
    return std::ranges::any_of(table.columns, [](const TableColumn& column) { return !column.group.empty(); });
}

std::vector<ColumnGroup> columnGroupsOf(const FigureTable& table) {
    std::vector<ColumnGroup> groups;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (groups.empty() || groups.back().title != table.columns[i].group)
            groups.push_back({table.columns[i].group, i, 0});
        ++groups.back().count;
    }
    return groups;
}

std::string cellText(const TableColumn& column, const TableCell& cell) {
    if (std::isnan(cell.value))
        return cell.text.empty() && !column.isText ? std::string(tableGap) : cell.text;
    std::string text = tableNumber(cell.value, column);
    if (cell.error > 0)
        text += " ± " + tableNumber(cell.error, column);
    return cell.isDoubtful ? "[" + text + "]" : text;
}

std::string fullTitle(const TableColumn& column) {
    return column.group.empty() ? column.title : column.group + "/" + column.title;
}

std::string toMarkdown(const Figure& figure) {
    const FigureTable& table = figure.table;
    std::string text = fmt::format("<!-- {} -->\n\n", markLine(figure));
    if (!figure.caption.empty())
        text += withReplacements(figure.caption, markdownEscapes) + "\n\n";
    std::vector<std::string> titles;
    std::vector<std::string> sides;
    for (const TableColumn& column : table.columns) {
        titles.push_back(withReplacements(fullTitle(column), markdownEscapes));
        sides.emplace_back(column.isText ? ":--" : "--:");
    }
    text += markdownLine(titles) + markdownLine(sides);
    for (const TableRow& row : table.rows) {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            cells.push_back(markdownCell(table.columns[i], row.cells.at(i), row.isPublished));
        text += markdownLine(cells);
    }
    for (const std::string& note : table.notes)
        text += "\n" + withReplacements(note, markdownEscapes) + "\n";
    return text;
}

std::string captionText(const Figure& figure) {
    std::vector<std::string> paragraphs;
    if (!figure.caption.empty())
        paragraphs.push_back(figure.caption);
    std::ranges::copy(figure.table.notes, std::back_inserter(paragraphs));
    paragraphs.push_back(markedText(captionMark, figure.command));
    return join(paragraphs, "\n\n") + "\n";
}

} // namespace secateur
