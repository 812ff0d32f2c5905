#include "backends/atomic_file.h"

#include "analysis/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace secateur {

namespace {

[[noreturn]] void fail(const std::string& target) {
    throw Error("cannot be written: " + std::system_category().message(errno), target,
                "Choose another place, or make room; nothing was changed");
}

/// What a plainly created file would get; mkostemp gives the owner alone access.
mode_t usualMode() {
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

} // namespace

AtomicFile::AtomicFile(std::string target)
    : m_target(std::move(target)) {
    // A link is followed, so that the file it points to is replaced and not the link.
    std::error_code ignored;
    if (const auto real = std::filesystem::canonical(m_target, ignored); !ignored)
        m_target = real.string();
    const std::filesystem::path path(m_target);
    m_path = (path.parent_path() / ("." + path.filename().string() + ".XXXXXX")).string();
    const int file = mkostemp(m_path.data(), O_CLOEXEC);
    if (file < 0) {
        m_path.clear();
        fail(m_target);
    }
    fchmod(file, usualMode());
    close(file);
}

AtomicFile::~AtomicFile() {
    if (!m_path.empty())
        unlink(m_path.c_str());
}

void AtomicFile::commit() {
    const int file = open(m_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        fail(m_target);
    const bool onDisk = fsync(file) == 0;
    const int reason = errno;
    close(file);
    errno = reason;
    if (!onDisk || std::rename(m_path.c_str(), m_target.c_str()) != 0)
        fail(m_target);
    m_path.clear();
}

void writeTextFile(const std::string& target, std::string_view text) {
    AtomicFile file(target);
    std::ofstream stream(file.path(), std::ios::binary | std::ios::trunc);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    if (!stream)
        fail(target);
    file.commit();
}

} // namespace secateur
