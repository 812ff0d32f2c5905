#pragma once

#include "analysis/figures/figure.h"

#include <string>

namespace secateur {

/// The numbers and labels of a figure (resources/manual/formats.md, JSON output).
std::string figureJson(const Figure& figure);

} // namespace secateur
