#pragma once

#include "analysis/model/model.h"
#include "backends/formats/checkpoint.h"
#include "backends/engine/open_options.h"

#include <memory>
#include <string>
#include <string_view>

namespace secateur {

/// The model in a checkpoint: finds every tensor and checks its shape, reads none.
/// @param path as it was opened
/// @throws Error naming the tensor that is missing or of another shape
std::shared_ptr<const Model> modelFrom(std::unique_ptr<const Checkpoint> checkpoint, const std::string& path,
                                       std::string_view format, std::shared_ptr<const Kernels> kernels,
                                       const OpenOptions& options);

} // namespace secateur
