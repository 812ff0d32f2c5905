#pragma once

#include "analysis/masks/layer_parts.h"
#include "analysis/model/model_spec.h"
#include "analysis/masks/pruning_mask.h"

#include <vector>

namespace secateur {

/// Multiplications and additions for one token, of what a mask keeps of a layer: its products, and the scores of a
/// sequence of so many positions.
double layerOperations(const ModelSpec& spec, int layer, const LayerMask& mask, int positions);
double layerOperations(const ModelSpec& spec, int layer, const LayerParts& parts, int positions);

/// The same of the read-out of a decoder.
double lmHeadOperations(const ModelSpec& spec);

/// What running a mask from each layer on takes, the read-out included, as a share of all that the dense model takes
/// -> [layers + 1], of which the last is the read-out alone. Of the mask that keeps all: s(l) = ((L - l) c + r) / (L c
/// + r).
std::vector<double> operationShares(const ModelSpec& spec, const PruningMask& mask, int positions);

} // namespace secateur
