#pragma once

#include "analysis/figures/figure.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace secateur {

// What the forms of a table as text share (table_text.cpp, table_latex.cpp, table_html.cpp).

/// A part of a text, and its replacement.
using TextPair = std::pair<std::string_view, std::string_view>;

/// A text in which each of some parts is replaced. Of several that begin at one place, the first counts.
std::string withReplacements(std::string_view text, std::span<const TextPair> by);

/// The first line of a file, inside a comment: by the mark the file is known when it is replaced.
std::string markLine(const Figure& figure);

/// Whether any column has a title above it.
bool hasColumnGroups(const FigureTable& table);

} // namespace secateur
