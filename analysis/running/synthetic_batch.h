#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/running/batch.h"

namespace secateur {

/// A batch of one sequence, whose tokens are spread over the whole vocabulary. For timing.
Batch syntheticBatch(const ModelSpec& spec, int positions);

} // namespace secateur
