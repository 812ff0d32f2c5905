#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"

namespace secateur {

/// Checks that the model has this head. @throws UsageError if not
void checkHead(const ModelSpec& spec, HeadId id);

} // namespace secateur
