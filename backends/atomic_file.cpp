#include "backends/atomic_file.h"

#include "analysis/error.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <tuple>

namespace secateur {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& target, int reason = errno) {
    throw Error("cannot be written: " + std::system_category().message(reason), target,
                reason == ENOSPC || reason == EDQUOT ? "Make room or choose another disk; nothing was changed"
                                                     : "Nothing was changed");
}

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
        fail(name);
    return there.st_mode & 07777;
}

/// Writing through a descriptor gives the reason of a failure, which a stream keeps to itself.
void writeAll(int file, std::string_view bytes, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR)
            fail(name);
        bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

/// Closes a descriptor and keeps errno for whoever tells of a failure.
class Descriptor {
public:
    explicit Descriptor(int file)
        : m_file(file) {}
    ~Descriptor() {
        const int reason = errno;
        if (m_file >= 0)
            close(m_file);
        errno = reason;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return m_file; }

private:
    int m_file;
};

/// A rename is on the disk only when its folder is; file systems that cannot say so are left alone.
void syncFolder(const fs::path& folder) {
    const Descriptor file(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (file.get() >= 0)
        fsync(file.get());
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
    fail(m_name);
}

AtomicFile::~AtomicFile() {
    if (!m_path.empty())
        unlink(m_path.c_str());
}

void AtomicFile::commit() {
    const Descriptor file(open(m_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || fsync(file.get()) != 0 || std::rename(m_path.c_str(), m_target.c_str()) != 0)
        fail(m_name);
    m_path.clear();
    syncFolder(fs::path(m_target).parent_path());
}

void writeWhole(const std::string& target, std::string_view bytes) {
    AtomicFile aside(target);
    {
        const Descriptor file(open(aside.path().c_str(), O_WRONLY | O_CLOEXEC));
        if (file.get() < 0)
            fail(target);
        writeAll(file.get(), bytes, target);
    }
    aside.commit();
}

void checkCanWrite(const std::string& target) {
    const AtomicFile trial(target);
}

} // namespace secateur
