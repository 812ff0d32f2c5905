// Fuzz target: a config.json of any architecture.

#include "backends/formats/hf_config.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

using namespace secateur;

namespace {

/// A file in memory, with a path by which it can be opened.
struct MemoryFile {
    int descriptor = ::memfd_create("config.json", MFD_CLOEXEC);
    std::string path = "/proc/self/fd/" + std::to_string(descriptor);
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const MemoryFile file;
    if (::ftruncate(file.descriptor, 0) != 0 || ::pwrite(file.descriptor, data, size, 0) != static_cast<ssize_t>(size))
        std::abort();
    return fuzz::answers([&] {
        const CheckpointDescription description = describeHf("model", file.path);
        if (description.spec.architecture.empty() || description.spec.layers.empty() || description.spec.hidden < 1)
            std::abort();
    });
}
