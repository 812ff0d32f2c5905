#pragma once

#include "analysis/masks/compensation.h"
#include "analysis/model/model.h"

#include <cstdint>

namespace at {
class Tensor;
}

namespace secateur {

/// A weight of a compensation as a matrix [rows, columns]. It shares and keeps the numbers, which must not be modified.
/// @param weight not null
at::Tensor tensorOf(const SharedWeight& weight, std::int64_t rows);

/// The weight of a compensation that replaces a projection of the model; null = none.
/// @param which output or down; the compensation replaces no other weight
const SharedWeight& replacementOf(const LayerCompensation& compensation, WeightName which);

/// The output or down projection [hidden, columns] of a layer with its compensation: the weight that replaces it,
/// float32, or that of the model in the stored type. The update of an adapter is added to both. The factors of the
/// compensation are not in it.
at::Tensor projectionWeight(const Model& model, int layer, WeightName which, const LayerCompensation& compensation);

} // namespace secateur
