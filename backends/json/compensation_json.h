#pragma once

#include "analysis/compensation/fit_compensation.h"
#include "backends/json/mask_result_json.h"

#include <span>
#include <string>

namespace secateur {

/// {"compensation": "weights", "projections": fitsJson()}, followed by the fields of maskResultJson().
std::string compensationJson(const std::string& path, CompensationMode mode, std::span<const FittedPart> parts,
                             const PricedMask& mask, std::span<const std::string> warnings);

} // namespace secateur
