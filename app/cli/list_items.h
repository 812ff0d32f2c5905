#pragma once

#include <string>
#include <vector>

namespace secateur::cli {

/// The ids that `list KIND` prints; none for an unknown kind.
std::vector<std::string> listedIds(const std::string& kind);

} // namespace secateur::cli
