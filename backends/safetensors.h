#pragma once

#include "analysis/progress.h"
#include "backends/checkpoint.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens a Hugging Face directory or a .safetensors file beside its config.json; all shards when it is one of several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress);

} // namespace secateur
