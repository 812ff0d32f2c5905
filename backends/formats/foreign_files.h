#pragma once

#include "backends/base/mapped_file.h"

#include <memory>
#include <string>

namespace secateur {

/// Refuses a file that is something else than weights in a format that is read, where its bytes say surely what.
/// @throws Error that says what it is and what to do
void refuseForeign(const MappedFile& file);

/// Maps a file that should hold weights. @throws Error when it cannot be opened or is known to be something else
std::shared_ptr<const MappedFile> openWeights(const std::string& path);

} // namespace secateur
