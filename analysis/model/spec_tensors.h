#pragma once

#include "analysis/model/model.h"

#include <cstdint>
#include <vector>

namespace secateur {

enum class Need { absent, optional, required };

/// Whether a weight belongs to a layer rather than to the model as a whole.
bool isOfLayer(WeightName which);
bool isNorm(WeightName which); ///< a norm's weight, not its bias
/// Whether a model of this spec has the weight. Tied embeddings have no lmHead of their own. @param layer -1 = of none
Need needOf(const ModelSpec& spec, int layer, WeightName which);
/// The shape that the spec gives a weight, [out, in] for a matrix.
std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, WeightName which);

} // namespace secateur
