// Fuzz target: the last line of a session file, which contains a checksum. Only files with a valid checksum are passed
// to HDF5.

#include "backends/base/sha256.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        const auto bytes = fuzz::bytesOf(data, size);
        if (!isSealed(bytes))
            return;
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const std::size_t line = text.rfind("\nsecateur sha256:");
        if (line == std::string_view::npos || sealOf(text.substr(0, line)) != text.substr(line))
            std::abort();
    });
}
