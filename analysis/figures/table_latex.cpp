#include "analysis/base/text.h"
#include "analysis/figures/table_marks.h"
#include "analysis/figures/table_text.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

namespace {

/// Two hyphens would become a dash. Other letters are read as UTF-8 by LaTeX since 2018.
constexpr std::array latexEscapes{TextPair{"\\", "\\textbackslash{}"},
                                  TextPair{"{", "\\{"},
                                  TextPair{"}", "\\}"},
                                  TextPair{"$", "\\$"},
                                  TextPair{"&", "\\&"},
                                  TextPair{"#", "\\#"},
                                  TextPair{"%", "\\%"},
                                  TextPair{"_", "\\_"},
                                  TextPair{"~", "\\textasciitilde{}"},
                                  TextPair{"^", "\\textasciicircum{}"},
                                  TextPair{"<", "$<$"},
                                  TextPair{">", "$>$"},
                                  TextPair{"|", "$|$"},
                                  TextPair{"\"", "''"},
                                  TextPair{"`", "\\textasciigrave{}"},
                                  TextPair{"--", "-{}-{}"},
                                  TextPair{"−", "$-$"},
                                  TextPair{"±", "$\\pm$"},
                                  TextPair{"·", "$\\cdot$"},
                                  TextPair{"×", "$\\times$"},
                                  TextPair{"≤", "$\\leq$"},
                                  TextPair{"≥", "$\\geq$"},
                                  TextPair{"≈", "$\\approx$"},
                                  TextPair{"→", "$\\rightarrow$"},
                                  TextPair{"∞", "$\\infty$"},
                                  TextPair{"‖", "$\\|$"},
                                  TextPair{"√", "$\\surd$"},
                                  TextPair{"Σ", "$\\Sigma$"},
                                  TextPair{"Δ", "$\\Delta$"},
                                  TextPair{"α", "$\\alpha$"},
                                  TextPair{"β", "$\\beta$"},
                                  TextPair{"λ", "$\\lambda$"},
                                  TextPair{"μ", "$\\mu$"},
                                  TextPair{"µ", "$\\mu$"},
                                  TextPair{"σ", "$\\sigma$"},
                                  TextPair{"²", "$^2$"},
                                  TextPair{"³", "$^3$"},
                                  TextPair{"°", "$^\\circ$"},
                                  TextPair{"–", "--"},
                                  TextPair{"—", "---"},
                                  TextPair{"…", "\\ldots{}"},
                                  TextPair{"“", "``"},
                                  TextPair{"”", "''"},
                                  TextPair{"‘", "`"},
                                  TextPair{"’", "'"},
                                  TextPair{"\u00a0", "~"},
                                  TextPair{"\u202f", "\\,"},
                                  TextPair{"\r\n", " "},
                                  TextPair{"\n", " "}};

std::string latexText(std::string_view text) {
    return withReplacements(text, latexEscapes);
}

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
std::string latexGuarded(std::string text) {
    return text.starts_with('[') || text.starts_with('*') ? "{" + text.substr(0, 1) + "}" + text.substr(1) : text;
}

std::string latexCell(const TableColumn& column, const TableCell& cell, bool isPublished) {
    std::string text = latexGuarded(latexText(cellText(column, cell)));
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
    for (const ColumnGroup& group : columnGroupsOf(table)) {
        above.push_back(group.title.empty() && group.count == 1
                            ? std::string()
                            : fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", group.count, latexText(group.title)));
        if (!group.title.empty())
            rules += fmt::format("\\cmidrule(lr){{{}-{}}}", group.first + 1, group.first + group.count);
    }
    if (hasColumnGroups(table))
        head += latexRow(above) + rules + "\n";
    std::vector<std::string> titles;
    for (const TableColumn& column : table.columns)
        titles.push_back(latexGuarded(latexText(column.title)));
    return head + latexRow(titles);
}

} // namespace

std::string toLatex(const Figure& figure, std::string_view label) {
    const FigureTable& table = figure.table;
    constexpr std::size_t usualColumns = 8;
    std::string columns;
    for (const TableColumn& column : table.columns)
        columns += column.isText ? 'l' : 'r';
    std::string text =
        fmt::format("% {}\n% Needs \\usepackage{{booktabs}} and \\usepackage{{xcolor}}.\n", markLine(figure));
    text += fmt::format("\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n",
                        latexText(figure.caption), latexLabel(label.empty() ? figure.title : label));
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
                            latexText(note));
    return text + "\\end{table}\n";
}

} // namespace secateur
