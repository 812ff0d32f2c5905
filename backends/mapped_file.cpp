#include "backends/mapped_file.h"

#include "analysis/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace secateur {

namespace {

struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0)
            ::close(number);
    }
};

Error systemError(const char* what, const std::string& path) {
    return Error(std::string(what) + ": " + std::strerror(errno), path);
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
    // Not blocking: a named pipe is refused below instead of waiting for its writer.
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0)
        throw systemError("cannot be opened", path);
    struct stat status {};
    if (::fstat(file.number, &status) != 0)
        throw systemError("cannot be examined", path);
    if (!S_ISREG(status.st_mode))
        throw Error("is not a regular file", path);
    if (status.st_size == 0)
        throw Error("is empty", path);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number, 0);
    if (start == MAP_FAILED) // NOLINT: the macro is a C cast
        throw systemError("cannot be mapped into memory", path);
    return std::shared_ptr<const MappedFile>(new MappedFile(path, {static_cast<const std::byte*>(start), size}));
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes)
    : m_path(std::move(path))
    , m_bytes(bytes) {}

MappedFile::~MappedFile() {
    ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

} // namespace secateur
