#pragma once

#include "analysis/figures/figure_info.h"

#include <span>

namespace secateur {

// The rows of the figure table, which allFigures() joins: figures of no paper, and those that redraw a paper.

std::span<const FigureInfo> generalFigures();
std::span<const FigureInfo> weightFigures();
std::span<const FigureInfo> gateNormFigures();
std::span<const FigureInfo> greedyGnormFigures();
std::span<const FigureInfo> ampFigures();
std::span<const FigureInfo> bosFigures();
std::span<const FigureInfo> harpFigures();

/// The options of a row that has none.
inline constexpr std::span<const OptionInfo> noOptions;

} // namespace secateur
