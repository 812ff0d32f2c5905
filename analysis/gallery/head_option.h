#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"

#include <string>
#include <string_view>

namespace secateur {

/// Parses the head that an option names: "9.7" is layer 9, head 7. @throws UsageError
HeadId headOfOption(std::string_view option, const std::string& text);
/// Checks that the model has this head. @throws UsageError if not
void checkHead(const ModelSpec& spec, HeadId id);

} // namespace secateur
