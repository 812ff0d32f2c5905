#pragma once

#include "analysis/figures/figure.h"

namespace secateur {

struct PlotPlace;

/// Draws the parts of a grid in rows, with one legend above if it explains all of them.
void paintGrid(const PlotPlace& place, const Figure& figure);

} // namespace secateur
