#pragma once

#include "analysis/gallery/reproduction.h"

#include <string>

namespace secateur {

/// The document of `reproduce` (resources/manual/formats.md, JSON output).
std::string reproductionJson(const Reproduction& run);

} // namespace secateur
