#pragma once

#include "analysis/model/model_card.h"
#include "backends/session/hdf5_io.h"

#include <cstdint>

namespace secateur {

/// The model card as attributes of a session's /model group: the fields of `inspect`, per-layer ones as arrays.
void writeModelCard(const hdf5::Handle& group, const ModelCard& card);
/// @param version of the session's format. @throws Error when a field is missing or makes no sense
ModelCard readModelCard(const hdf5::Handle& group, std::int64_t version);

} // namespace secateur
