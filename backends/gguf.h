#pragma once

#include "analysis/progress.h"
#include "backends/checkpoint.h"

#include <memory>
#include <string>

namespace secateur {

/// Opens a GGUF file, version 2 or 3. @throws Error
std::unique_ptr<const Checkpoint> openGguf(const std::string& path, const Progress& progress);

} // namespace secateur
