#pragma once

#include "analysis/figures/figure.h"

#include <string>
#include <vector>

namespace secateur {

struct PlotTheme;

inline constexpr double edgeUnits = 4; ///< margin of a plot at each side

/// Height in cm of a figure with text of 8 pt, by its kind, its contents and the width. Tables have exactly the height
/// that they need.
double figureHeightCm(const Figure& figure, double widthCm);

/// Height in pixels below which a figure of kind grid or table is not legible at a width; 0 for other kinds.
int neededHeight(const Figure& figure, int width, const PlotTheme& theme);

/// Number of parts of a grid side by side: fewer than Figure::gridColumns where they would be too narrow.
int gridColumns(const Figure& figure, double widthCm);

/// Whether one legend explains the lines of all parts of a grid: equal names have equal looks, and other names others.
bool hasCommonLegend(const Figure& figure);

/// Names of the entries of the common legend of a grid, in their order.
std::vector<std::string> commonLegend(const Figure& figure);

} // namespace secateur
