#pragma once

#include <cstdint>
#include <string>

namespace secateur {

/// A checkpoint that was found on this computer. The window offers to open it.
struct FoundModel {
    std::string name;          ///< "ORG/NAME" in the Hugging Face cache, followed by the file's name for a single file;
                               ///< elsewhere the name of the file or folder
    std::string path;          ///< path to open
    std::int64_t bytes = 0;    ///< size of the weights
    std::int64_t modified = 0; ///< time of the last write to the weights, in seconds since 1970
    std::string folder = {};   ///< the folder that has it; empty = the Hugging Face cache
    bool isDemo = false;       ///< whether it is the demo model, which scripts/fetch-demo-model.sh fetches
};

} // namespace secateur
