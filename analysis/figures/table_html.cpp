#include "analysis/figures/table_marks.h"
#include "analysis/figures/table_text.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

namespace {

constexpr std::array htmlEscapes{TextPair{"&", "&amp;"}, TextPair{"<", "&lt;"}, TextPair{">", "&gt;"},
                                 TextPair{"\"", "&quot;"}};

constexpr std::string_view htmlThickRule = "1.5px solid black";
constexpr std::string_view htmlThinRule = "0.75px solid black";

struct HtmlCell {
    std::string tag = "td";
    std::string classes;
    std::string style;
    std::string text;
    std::size_t columns = 1;
};

std::string htmlCell(const HtmlCell& cell) {
    const std::string span = cell.columns > 1 ? fmt::format(" colspan=\"{}\"", cell.columns) : std::string();
    return fmt::format("<{0} class=\"{1}\"{2} style=\"padding:2px 6px;{3}\">{4}</{0}>", cell.tag, cell.classes, span,
                       cell.style, htmlText(cell.text));
}

std::string htmlLine(const std::vector<HtmlCell>& cells) {
    std::string line = "<tr>";
    for (const HtmlCell& cell : cells)
        line += htmlCell(cell);
    return line + "</tr>\n";
}

std::string htmlAlignment(const TableColumn& column) {
    return column.isText ? "text-align:left;" : "text-align:right;";
}

std::string htmlClass(const TableColumn& column) {
    return column.isText ? "text" : "number";
}

std::string htmlHead(const FigureTable& table) {
    std::vector<HtmlCell> above;
    for (const ColumnGroup& group : columnGroupsOf(table)) {
        const std::string rule = group.title.empty() ? std::string() : fmt::format("border-bottom:{};", htmlThinRule);
        above.push_back({"th", "group", fmt::format("text-align:center;border-top:{};{}", htmlThickRule, rule),
                         group.title, group.count});
    }
    const bool isGrouped = hasColumnGroups(table);
    std::vector<HtmlCell> titles;
    for (const TableColumn& column : table.columns)
        titles.push_back({"th", htmlClass(column),
                          fmt::format("{}border-bottom:{};{}", htmlAlignment(column), htmlThinRule,
                                      isGrouped ? "" : fmt::format("border-top:{};", htmlThickRule)),
                          column.title});
    return "<thead>\n" + (isGrouped ? htmlLine(above) : std::string()) + htmlLine(titles) + "</thead>\n";
}

HtmlCell htmlCellOf(const TableColumn& column, const TableCell& cell, const TableRow& row, bool isFirst, bool isLast) {
    HtmlCell shown{"td", htmlClass(column), htmlAlignment(column), cellText(column, cell)};
    if (row.isPublished) {
        shown.classes += " published";
        shown.style += "color:#707070;";
    }
    if (cell.isBest) {
        shown.classes += " best";
        shown.style += "font-weight:bold;";
    }
    if (row.startsGroup && !isFirst)
        shown.style += fmt::format("border-top:{};", htmlThinRule);
    if (isLast)
        shown.style += fmt::format("border-bottom:{};", htmlThickRule);
    return shown;
}

} // namespace

std::string htmlText(std::string_view text) {
    return withReplacements(text, htmlEscapes);
}

std::string toHtml(const Figure& figure) {
    const FigureTable& table = figure.table;
    std::string text = "<table class=\"figure\" style=\"border-collapse:collapse;\">\n" + htmlHead(table) + "<tbody>\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        std::vector<HtmlCell> cells;
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            cells.push_back(htmlCellOf(table.columns[i], table.rows[row].cells.at(i), table.rows[row], row == 0,
                                       row + 1 == table.rows.size()));
        text += htmlLine(cells);
    }
    text += "</tbody>\n</table>\n";
    for (const std::string& note : table.notes)
        text += fmt::format("<p class=\"note\">{}</p>\n", htmlText(note));
    return text;
}

std::string toHtmlPage(const Figure& figure) {
    const std::string& title = figure.title.empty() ? figure.caption : figure.title;
    return fmt::format("<!DOCTYPE html>\n<!-- {} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}"
                       "</title>\n</head>\n<body style=\"font-family:sans-serif;font-size:10pt;\">\n<p "
                       "class=\"caption\">{}</p>\n{}</body>\n</html>\n",
                       markLine(figure), htmlText(title), htmlText(figure.caption), toHtml(figure));
}

} // namespace secateur
