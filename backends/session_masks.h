#pragma once

#include "analysis/session.h"
#include "backends/hdf5_io.h"

#include <vector>

namespace secateur {

/// Everything under /masks: the JSON form of each, in which nothing is lost; the arrays beside it are for whoever reads
/// the file without Secateur. @throws Error naming the place
std::vector<SessionMask> readMasks(const hdf5::Handle& file, const ModelSpec& spec);

/// In place of whatever masks the file holds.
void writeMasks(const hdf5::Handle& file, const std::vector<SessionMask>& masks);

} // namespace secateur
