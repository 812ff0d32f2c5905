#pragma once

#include "backends/engine/layer_math.h"
#include "backends/kernels/layer_loops.h"

namespace secateur {

/// What the processor's loops want to know of a layer. All point into their arguments.
NormValues valuesOf(const Norm& norm);
RotaryTables tablesOf(const RotaryTable& table);
AttentionShape shapeOf(const AttentionInput& input);

} // namespace secateur
