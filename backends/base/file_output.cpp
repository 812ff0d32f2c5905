#include "backends/base/file_output.h"

#include "analysis/base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace secateur {

void failWriting(const std::string& name, int reason) {
    throw Error("cannot be written: " + std::system_category().message(reason), name,
                reason == ENOSPC || reason == EDQUOT ? "Make room or choose another disk; nothing was changed"
                                                     : "Nothing was changed");
}

Descriptor::~Descriptor() {
    const int reason = errno;
    if (m_file >= 0)
        close(m_file);
    errno = reason;
}

FileOutput::FileOutput(const std::string& path, std::string name)
    : m_name(std::move(name))
    , m_file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (m_file.get() < 0)
        failWriting(m_name);
}

void FileOutput::write(std::span<const std::byte> bytes) {
    // Of larger ones newer kernels make large pages first, which takes several times as long.
    constexpr std::size_t writtenAtOnce = std::size_t{64} << 10;
    while (!bytes.empty()) {
        const ssize_t written = ::write(m_file.get(), bytes.data(), std::min(bytes.size(), writtenAtOnce));
        if (written < 0 && errno != EINTR)
            failWriting(m_name);
        bytes = bytes.subspan(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

std::size_t FileOutput::copy(const MappedFile& source, std::span<const std::byte> part) {
    for (;;) {
        const std::ptrdiff_t copied = source.copyTo(m_file.get(), part);
        if (copied > 0)
            return static_cast<std::size_t>(copied);
        if (copied < 0 && errno != EINTR)
            failWriting(m_name);
    }
}

void overwrite(const std::string& path, std::size_t offset, std::span<const std::byte> bytes) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
                              static_cast<ssize_t>(bytes.size()))
        failWriting(path);
}

void syncFile(const std::string& path, const std::string& name) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || fsync(file.get()) != 0)
        failWriting(name);
}

void syncFolder(const std::string& folder) {
    const Descriptor file(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (file.get() >= 0)
        fsync(file.get());
}

} // namespace secateur
