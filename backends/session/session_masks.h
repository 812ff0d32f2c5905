#pragma once

#include "analysis/session/session.h"
#include "backends/session/hdf5_io.h"

#include <vector>

namespace secateur {

/// Everything under /masks: the JSON form of each, in which nothing is lost; the arrays beside it are for whoever reads
/// the file without Secateur. @throws Error naming the place
std::vector<SessionMask> readMasks(const hdf5::Handle& file, const ModelSpec& spec);

/// Writes those masks that the file holds otherwise, or not yet. @param held readMasks(), which `masks` begins with
void writeMasks(const hdf5::Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held);

} // namespace secateur
