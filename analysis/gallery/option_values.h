#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/figure_info.h"
#include "analysis/model/head_check.h"
#include "analysis/model/model_spec.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// The number that a text is as a whole: "7", "-1". Empty if it is none, or beyond the range of int.
std::optional<int> wholeNumberIn(std::string_view text);

/// The value of an option of the type `integer`. @throws UsageError if it is beyond the range of int
int integerOption(const FigureOptions& options, const std::string& name);

/// Parses the head that an option names: "9.7" is layer 9, head 7. @throws UsageError
HeadId headOfOption(std::string_view option, const std::string& text);

} // namespace secateur
