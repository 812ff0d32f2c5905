#pragma once

#include "analysis/figures/figure.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// Figures of kind `table` as text. Numbers have the decimals of their column, gaps are "–", published rows are marked.

/// The text of a cell: "1,234.50", "12.30 ± 0.20", "[5.10]" for a doubtful value, "–" for a gap. Numbers of at least
/// 1e7 without separators are written as "1.23e+12".
std::string cellText(const TableColumn& column, const TableCell& cell);
/// Neighbouring columns with the same title above them.
struct ColumnGroup {
    std::string title; ///< empty = none
    std::size_t first = 0;
    std::size_t count = 0;
};
/// All columns of a table in groups.
std::vector<ColumnGroup> columnGroupsOf(const FigureTable& table);
/// "group/title"; the title alone if the column has no group.
std::string fullTitle(const TableColumn& column);

/// Text of a table's file, the caption above and the notes below it. The first line is a comment with the command.
/// Markdown with tables as on GitHub. Best values are bold, published rows in italics. Titles are those of fullTitle().
std::string toMarkdown(const Figure& figure);
/// LaTeX for the packages booktabs and xcolor. Best values are bold, published rows grey.
/// @param label name for \ref, after "tab:"; empty = made from the title
std::string toLatex(const Figure& figure, std::string_view label = {});
/// A text in which `&`, `<`, `>` and `"` are written as HTML writes them.
std::string htmlText(std::string_view text);
/// A document in HTML with toHtml() in it.
std::string toHtmlPage(const Figure& figure);

/// A table element and a paragraph for each note, without a comment or caption, for a document in HTML. All styles are
/// inline; the classes are `text`, `number`, `published` and `best`.
std::string toHtml(const Figure& figure);

/// The caption as text for a file beside a picture: caption, notes and command, in paragraphs.
std::string captionText(const Figure& figure);

} // namespace secateur
