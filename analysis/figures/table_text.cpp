#include "analysis/figures/table_text.h"

#include "analysis/base/replaceable.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

constexpr std::string_view gap = "–";
constexpr std::string_view minus = "−";
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
        return value < 0 ? std::string(minus) + "∞" : "∞";
    const double size = std::abs(value);
    std::string digits = size >= mostPlain && !column.hasThousands ? fmt::format("{:.2e}", size)
                                                                   : fmt::format("{:.{}f}", size, column.decimals);
    const bool isZero = digits.find_first_not_of("0.") == std::string::npos;
    if (column.hasThousands)
        digits = withThousands(std::move(digits));
    return value < 0 && !isZero ? std::string(minus) + digits : digits;
}

/// A text in which each of some parts is replaced.
template <std::size_t Count>
std::string replaced(std::string_view text,
                     const std::array<std::pair<std::string_view, std::string_view>, Count>& by) {
    std::string result;
    while (!text.empty()) {
        const auto found = std::ranges::find_if(by, [&](const auto& pair) { return text.starts_with(pair.first); });
        result += found == by.end() ? text.substr(0, 1) : found->second;
        text.remove_prefix(found == by.end() ? 1 : found->first.size());
    }
    return result;
}

using Replacement = std::pair<std::string_view, std::string_view>;

constexpr std::array markdownEscapes{Replacement{"\\", "\\\\"}, Replacement{"|", "\\|"},  Replacement{"*", "\\*"},
                                     Replacement{"`", "\\`"},   Replacement{"<", "&lt;"}, Replacement{"&", "&amp;"},
                                     Replacement{"\r\n", " "},  Replacement{"\n", " "}};

constexpr std::array htmlEscapes{Replacement{"&", "&amp;"}, Replacement{"<", "&lt;"}, Replacement{">", "&gt;"},
                                 Replacement{"\"", "&quot;"}};

/// Two hyphens would become a dash. Other letters are read as UTF-8 by LaTeX since 2018.
constexpr std::array latexEscapes{Replacement{"\\", "\\textbackslash{}"},
                                  Replacement{"{", "\\{"},
                                  Replacement{"}", "\\}"},
                                  Replacement{"$", "\\$"},
                                  Replacement{"&", "\\&"},
                                  Replacement{"#", "\\#"},
                                  Replacement{"%", "\\%"},
                                  Replacement{"_", "\\_"},
                                  Replacement{"~", "\\textasciitilde{}"},
                                  Replacement{"^", "\\textasciicircum{}"},
                                  Replacement{"<", "$<$"},
                                  Replacement{">", "$>$"},
                                  Replacement{"|", "$|$"},
                                  Replacement{"\"", "''"},
                                  Replacement{"`", "\\textasciigrave{}"},
                                  Replacement{"--", "-{}-{}"},
                                  Replacement{"−", "$-$"},
                                  Replacement{"±", "$\\pm$"},
                                  Replacement{"·", "$\\cdot$"},
                                  Replacement{"×", "$\\times$"},
                                  Replacement{"≤", "$\\leq$"},
                                  Replacement{"≥", "$\\geq$"},
                                  Replacement{"≈", "$\\approx$"},
                                  Replacement{"→", "$\\rightarrow$"},
                                  Replacement{"∞", "$\\infty$"},
                                  Replacement{"‖", "$\\|$"},
                                  Replacement{"√", "$\\surd$"},
                                  Replacement{"Σ", "$\\Sigma$"},
                                  Replacement{"Δ", "$\\Delta$"},
                                  Replacement{"α", "$\\alpha$"},
                                  Replacement{"β", "$\\beta$"},
                                  Replacement{"λ", "$\\lambda$"},
                                  Replacement{"μ", "$\\mu$"},
                                  Replacement{"µ", "$\\mu$"},
                                  Replacement{"σ", "$\\sigma$"},
                                  Replacement{"²", "$^2$"},
                                  Replacement{"³", "$^3$"},
                                  Replacement{"°", "$^\\circ$"},
                                  Replacement{"–", "--"},
                                  Replacement{"—", "---"},
                                  Replacement{"…", "\\ldots{}"},
                                  Replacement{"“", "``"},
                                  Replacement{"”", "''"},
                                  Replacement{"‘", "`"},
                                  Replacement{"’", "'"},
                                  Replacement{"\u00a0", "~"},
                                  Replacement{"\u202f", "\\,"},
                                  Replacement{"\r\n", " "},
                                  Replacement{"\n", " "}};

std::string latex(std::string_view text) {
    return replaced(text, latexEscapes);
}

std::string html(std::string_view text) {
    return replaced(text, htmlEscapes);
}

std::string marked(std::string_view mark, const std::string& command) {
    return std::string(mark) + (command.empty() ? "" : ": " + command);
}

/// The first line of a file, inside a comment: by the mark the file is known when it is replaced.
std::string markLine(const Figure& figure) {
    constexpr std::array ends{Replacement{"-->", "-- >"}, Replacement{"\n", " "}}; // of a comment
    return marked(tableMark, replaced(figure.command, ends));
}

/// Neighbouring columns with the same title above them.
struct ColumnGroup {
    std::string title; ///< empty = none
    std::size_t first = 0;
    std::size_t count = 0;
};

std::vector<ColumnGroup> groupsOf(const FigureTable& table) {
    std::vector<ColumnGroup> groups;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (groups.empty() || groups.back().title != table.columns[i].group)
            groups.push_back({table.columns[i].group, i, 0});
        ++groups.back().count;
    }
    return groups;
}

bool hasGroups(const FigureTable& table) {
    return std::ranges::any_of(table.columns, [](const TableColumn& column) { return !column.group.empty(); });
}

// Markdown

std::string markdownLine(const std::vector<std::string>& cells) {
    return "| " + join(cells, " | ") + " |\n";
}

std::string markdownCell(const TableColumn& column, const TableCell& cell, bool isPublished) {
    const std::string text = replaced(cellText(column, cell), markdownEscapes);
    if (text.empty() || text == gap)
        return text;
    const std::string_view mark = cell.isBest ? "**" : isPublished ? "*" : "";
    return fmt::format("{0}{1}{0}", mark, text);
}

// LaTeX

/// The label of a table: letters and digits, joined by hyphens.
std::string latexLabel(std::string_view text) {
    std::string label;
    for (const char c : text) {
        const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (isLetter)
            label += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        else if (!label.empty() && label.back() != '-')
            label += '-';
    }
    while (label.ends_with('-'))
        label.pop_back();
    return label;
}

/// A bracket or star at the begin of a row would be an argument of the line break before it.
std::string guarded(std::string text) {
    return text.starts_with('[') || text.starts_with('*') ? "{" + text.substr(0, 1) + "}" + text.substr(1) : text;
}

std::string latexCell(const TableColumn& column, const TableCell& cell, bool isPublished) {
    std::string text = guarded(latex(cellText(column, cell)));
    if (cell.isBest)
        text = fmt::format("\\textbf{{{}}}", text);
    return isPublished && !text.empty() ? fmt::format("\\textcolor{{gray}}{{{}}}", text) : text;
}

std::string latexRow(const std::vector<std::string>& cells) {
    return join(cells, " & ") + " \\\\\n";
}

/// The titles, with those of groups and their rules above.
std::string latexHead(const FigureTable& table) {
    std::string head;
    std::vector<std::string> above;
    std::string rules;
    for (const ColumnGroup& group : groupsOf(table)) {
        above.push_back(group.title.empty() && group.count == 1
                            ? std::string()
                            : fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", group.count, latex(group.title)));
        if (!group.title.empty())
            rules += fmt::format("\\cmidrule(lr){{{}-{}}}", group.first + 1, group.first + group.count);
    }
    if (hasGroups(table))
        head += latexRow(above) + rules + "\n";
    std::vector<std::string> titles;
    for (const TableColumn& column : table.columns)
        titles.push_back(guarded(latex(column.title)));
    return head + latexRow(titles);
}

// HTML

constexpr std::string_view thickRule = "1.5px solid black";
constexpr std::string_view thinRule = "0.75px solid black";

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
                       cell.style, html(cell.text));
}

std::string htmlLine(const std::vector<HtmlCell>& cells) {
    std::string line = "<tr>";
    for (const HtmlCell& cell : cells)
        line += htmlCell(cell);
    return line + "</tr>\n";
}

std::string alignment(const TableColumn& column) {
    return column.isText ? "text-align:left;" : "text-align:right;";
}

std::string htmlClass(const TableColumn& column) {
    return column.isText ? "text" : "number";
}

std::string htmlHead(const FigureTable& table) {
    std::vector<HtmlCell> above;
    for (const ColumnGroup& group : groupsOf(table)) {
        const std::string rule = group.title.empty() ? std::string() : fmt::format("border-bottom:{};", thinRule);
        above.push_back({"th", "group", fmt::format("text-align:center;border-top:{};{}", thickRule, rule), group.title,
                         group.count});
    }
    const bool isGrouped = hasGroups(table);
    std::vector<HtmlCell> titles;
    for (const TableColumn& column : table.columns)
        titles.push_back({"th", htmlClass(column),
                          fmt::format("{}border-bottom:{};{}", alignment(column), thinRule,
                                      isGrouped ? "" : fmt::format("border-top:{};", thickRule)),
                          column.title});
    return "<thead>\n" + (isGrouped ? htmlLine(above) : std::string()) + htmlLine(titles) + "</thead>\n";
}

HtmlCell htmlCellOf(const TableColumn& column, const TableCell& cell, const TableRow& row, bool isFirst, bool isLast) {
    HtmlCell shown{"td", htmlClass(column), alignment(column), cellText(column, cell)};
    if (row.isPublished) {
        shown.classes += " published";
        shown.style += "color:#707070;";
    }
    if (cell.isBest) {
        shown.classes += " best";
        shown.style += "font-weight:bold;";
    }
    if (row.startsGroup && !isFirst)
        shown.style += fmt::format("border-top:{};", thinRule);
    if (isLast)
        shown.style += fmt::format("border-bottom:{};", thickRule);
    return shown;
}

} // namespace

std::string cellText(const TableColumn& column, const TableCell& cell) {
    if (std::isnan(cell.value))
        return cell.text.empty() && !column.isText ? std::string(gap) : cell.text;
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
        text += replaced(figure.caption, markdownEscapes) + "\n\n";
    std::vector<std::string> titles;
    std::vector<std::string> sides;
    for (const TableColumn& column : table.columns) {
        titles.push_back(replaced(fullTitle(column), markdownEscapes));
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
        text += "\n" + replaced(note, markdownEscapes) + "\n";
    return text;
}

std::string toLatex(const Figure& figure, std::string_view label) {
    const FigureTable& table = figure.table;
    constexpr std::size_t usualColumns = 8;
    std::string columns;
    for (const TableColumn& column : table.columns)
        columns += column.isText ? 'l' : 'r';
    std::string text =
        fmt::format("% {}\n% Needs \\usepackage{{booktabs}} and \\usepackage{{xcolor}}.\n", markLine(figure));
    text += fmt::format("\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n", latex(figure.caption),
                        latexLabel(label.empty() ? figure.title : label));
    text += table.columns.size() > usualColumns ? "\\footnotesize\n\\setlength{\\tabcolsep}{3pt}\n" : "\\small\n";
    text += fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n{}\\midrule\n", columns, latexHead(table));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        if (row > 0 && table.rows[row].startsGroup)
            text += "\\midrule\n";
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            cells.push_back(latexCell(table.columns[i], table.rows[row].cells.at(i), table.rows[row].isPublished));
        text += latexRow(cells);
    }
    text += "\\bottomrule\n\\end{tabular}\n";
    for (const std::string& note : table.notes)
        text += fmt::format("\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize {}\\end{{minipage}}\n",
                            latex(note));
    return text + "\\end{table}\n";
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
        text += fmt::format("<p class=\"note\">{}</p>\n", html(note));
    return text;
}

std::string toHtmlPage(const Figure& figure) {
    const std::string& title = figure.title.empty() ? figure.caption : figure.title;
    return fmt::format("<!DOCTYPE html>\n<!-- {} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}"
                       "</title>\n</head>\n<body style=\"font-family:sans-serif;font-size:10pt;\">\n<p "
                       "class=\"caption\">{}</p>\n{}</body>\n</html>\n",
                       markLine(figure), html(title), html(figure.caption), toHtml(figure));
}

std::string captionText(const Figure& figure) {
    std::vector<std::string> paragraphs;
    if (!figure.caption.empty())
        paragraphs.push_back(figure.caption);
    std::ranges::copy(figure.table.notes, std::back_inserter(paragraphs));
    paragraphs.push_back(marked(captionMark, figure.command));
    return join(paragraphs, "\n\n") + "\n";
}

} // namespace secateur
