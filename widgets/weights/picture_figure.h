#pragma once

#include "analysis/figures/figure.h"

#include <string>

namespace secateur {

class MatrixMap;

/// The part of a matrix that is on screen as a heat map, in the blocks of its picture. @param map with a tile
/// @param label of the colour bar
Figure figureOf(const MatrixMap& map, const std::string& title, const std::string& label, const ColourScale& scale);

} // namespace secateur
