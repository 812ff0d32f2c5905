#pragma once

#include "analysis/base/progress.h"
#include "analysis/weights/stored_tensors.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens a checkpoint in any format of backends/formats to look at its tensors. Tensors are listed also if the
/// configuration is missing or the architecture is not known; StoredTensors::warnings() then says so.
/// @throws Error if the files cannot be read; Cancelled
std::shared_ptr<const StoredTensors> openTensors(const std::string& path, const Progress& progress = {});

} // namespace secateur
