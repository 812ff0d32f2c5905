#pragma once

#include "analysis/figures/figure.h"
#include "widgets/report/page_flow.h"

#include <vector>

namespace secateur {

/// The header and the rows of a table. The header is drawn again on further pages. Columns are as wide as their
/// contents; texts are wrapped, and letters made smaller, where the table would be wider than a page.
/// @param width of the page @param mostHeight height up to which all rows are on one page
std::vector<PageBox> tableBoxes(const FigureTable& table, double width, double mostHeight);

} // namespace secateur
