#pragma once

#include <string>

namespace secateur {

/// Creates a folder and those above it, unless they exist. @throws Error
void makeFolder(const std::string& folder);

} // namespace secateur
