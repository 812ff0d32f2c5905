#pragma once

#include "analysis/model_card.h"
#include "backends/hdf5_io.h"

namespace secateur {

/// The model card as attributes of a session's /model group: the fields of `inspect`, per-layer ones as arrays.
void writeModelCard(const hdf5::Handle& group, const ModelCard& card);
/// @throws Error when a field is missing or makes no sense
ModelCard readModelCard(const hdf5::Handle& group);

} // namespace secateur
