#pragma once

#include <cstdint>
#include <string>

namespace secateur {

/// A checkpoint that another program fetched before, to be offered for opening.
struct CachedModel {
    std::string name;          ///< "ORG/NAME", of a single file with that file's name behind it
    std::string path;          ///< what to open
    std::int64_t bytes = 0;    ///< of its weights
    std::int64_t modified = 0; ///< when they were last written, in seconds since 1970
};

} // namespace secateur
