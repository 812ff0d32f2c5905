#pragma once

#include <cstdint>
#include <string>

namespace secateur {

/// A checkpoint in the cache of another program. The window offers to open it.
struct CachedModel {
    std::string name;          ///< "ORG/NAME"; for a single file, followed by the file's name
    std::string path;          ///< path to open
    std::int64_t bytes = 0;    ///< size of the weights
    std::int64_t modified = 0; ///< time of the last write to the weights, in seconds since 1970
};

} // namespace secateur
