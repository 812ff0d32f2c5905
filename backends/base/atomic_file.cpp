#include "backends/base/atomic_file.h"

#include "analysis/base/error.h"
#include "backends/base/file_output.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
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

/// A link is followed, so that the file it points to is replaced and not the link.
std::string withLinksFollowed(const std::string& target) {
    std::error_code ignored;
    const fs::path real = fs::canonical(target, ignored);
    return ignored ? target : real.string();
}

} // namespace

AtomicFile::AtomicFile(const std::string& target)
    : m_name(target)
    , m_target(withLinksFollowed(target)) {
    const fs::path path(m_target);
    const mode_t mode = checkTarget(m_name, path);
    m_aside.emplace(path.parent_path().string(), Unfinished::Kind::file, m_name);
    if (mode != 0)
        std::ignore = fchmod(m_aside->descriptor(), mode);
}

AtomicFile::~AtomicFile() {
    if (m_aside)
        unlink(path().c_str());
}

void AtomicFile::write(std::string_view bytes) {
    FileOutput(path(), m_name).write(std::as_bytes(std::span(bytes)));
}

void AtomicFile::sync() {
    syncFile(path(), m_name);
}

void AtomicFile::removeTarget() {
    if (unlink(m_target.c_str()) != 0 && errno != ENOENT)
        failWriting(m_name);
}

void AtomicFile::commit() {
    sync();
    if (std::rename(path().c_str(), m_target.c_str()) != 0)
        failWriting(m_name);
    m_aside.reset();
    syncFolder(fs::path(m_target).parent_path().string());
}

void writeWhole(const std::string& target, std::string_view bytes) {
    AtomicFile aside(target);
    aside.write(bytes);
    aside.commit();
}

void checkCanWrite(const std::string& target) {
    const AtomicFile trial(target);
}

} // namespace secateur
