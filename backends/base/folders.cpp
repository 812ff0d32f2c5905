#include "backends/base/folders.h"

#include "analysis/base/error.h"

#include <filesystem>
#include <system_error>

namespace secateur {

void makeFolder(const std::string& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        throw Error("the folder cannot be made: " + failure.message(), folder);
}

} // namespace secateur
