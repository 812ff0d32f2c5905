#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_spec.h"
#include "analysis/training/trainer.h"

namespace secateur {

/// The mask without the factors and the bias that its compensation has at a projection. A weight that replaces the
/// projection stays. @param place layer, and output or down
PruningMask withoutFactorsAndBias(PruningMask mask, const WeightPlace& place);

/// The mask with the trained compensation of a state; the mask itself if the state has none. Where the mask replaces a
/// projection by a weight of its own, the factors are multiplied into this weight.
/// @param mask under which the state was trained
PruningMask withTrainedCompensation(PruningMask mask, const TrainingState& state, const ModelSpec& spec);

} // namespace secateur
