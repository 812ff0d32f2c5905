#include "backends/atomic_file.h"

#include "analysis/error.h"
#include "backends/file_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <system_error>
#include <tuple>

namespace secateur {

namespace {

namespace fs = std::filesystem;

/// Renaming over a target that may not be replaced would work all the same. @return the permissions the new file should
/// get
mode_t checkTarget(const std::string& name, const fs::path& target) {
    const fs::path folder = target.parent_path();
    if (!folder.empty() && !fs::is_directory(folder))
        throw Error(fmt::format("cannot be written: there is no folder {}", folder.string()), name, "Make it first");
    struct stat there {};
    if (stat(target.c_str(), &there) != 0)
        return 0;
    if (S_ISDIR(there.st_mode))
        throw Error("cannot be written: it is a folder", name, "Name a file");
    if (!S_ISREG(there.st_mode))
        throw Error("cannot be written: it is not a regular file", name, "Name another file");
    if (access(target.c_str(), W_OK) != 0)
        failWriting(name);
    return there.st_mode & 07777;
}

} // namespace

AtomicFile::AtomicFile(const std::string& target)
    : m_name(target)
    , m_target(target) {
    // A link is followed, so that the file it points to is replaced and not the link.
    std::error_code ignored;
    if (const fs::path real = fs::canonical(target, ignored); !ignored)
        m_target = real.string();
    const fs::path path(m_target);
    const mode_t mode = checkTarget(m_name, path);
    std::random_device random;
    do {
        const std::string unique = fmt::format(".secateur-{:08x}{:08x}.tmp", random(), random());
        m_path = (path.parent_path() / unique).string();
        const Descriptor file(open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file.get() >= 0) {
            if (mode != 0)
                std::ignore = fchmod(file.get(), mode);
            return;
        }
    } while (errno == EEXIST);
    failWriting(m_name);
}

AtomicFile::~AtomicFile() {
    if (!m_path.empty())
        unlink(m_path.c_str());
}

void AtomicFile::commit() {
    syncFile(m_path, m_name);
    if (std::rename(m_path.c_str(), m_target.c_str()) != 0)
        failWriting(m_name);
    m_path.clear();
    syncFolder(fs::path(m_target).parent_path().string());
}

void writeWhole(const std::string& target, std::string_view bytes) {
    AtomicFile aside(target);
    FileOutput(aside.path(), target).write(std::as_bytes(std::span(bytes)));
    aside.commit();
}

void checkCanWrite(const std::string& target) {
    const AtomicFile trial(target);
}

} // namespace secateur
