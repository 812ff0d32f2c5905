#pragma once

#include "analysis/running/plan.h"

#include <string>
#include <string_view>

namespace secateur {

struct TypeChoice {
    ComputeType type;   ///< never automatic
    std::string reason; ///< empty where a person chose
};

/// @param isProcessor or a CUDA device
/// @param storedAs the type of most of the checkpoint's numbers: "BF16", "Q4_1"
/// @throws Error when the type cannot be had
TypeChoice chooseType(ComputeType wanted, bool isProcessor, std::string_view storedAs);

} // namespace secateur
