#include "backends/base/file_lock.h"

#include "analysis/base/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

namespace secateur {

namespace {

namespace fs = std::filesystem;

/// Whoever held the lock has removed its file by now: then the lock is on a file that nobody else will find.
bool isStillAt(int file, const std::string& path) {
    struct stat locked {};
    struct stat now {};
    return fstat(file, &locked) == 0 && stat(path.c_str(), &now) == 0 && locked.st_dev == now.st_dev &&
           locked.st_ino == now.st_ino;
}

std::string lockPathFor(const std::string& path) {
    std::error_code ignored;
    const fs::path real = fs::canonical(path, ignored);
    const fs::path guarded = ignored ? fs::path(path) : real;
    return (guarded.parent_path() / ("." + guarded.filename().string() + ".lock")).string();
}

} // namespace

FileLock::FileLock(const std::string& path, std::chrono::milliseconds patience)
    : m_lockPath(lockPathFor(path)) {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
        m_file = open(m_lockPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (m_file < 0)
            throw Error("cannot be written: " + std::system_category().message(errno), path, "Nothing was changed");
        const bool locked = flock(m_file, LOCK_EX | LOCK_NB) == 0;
        // A file system without locks (some network ones) does not keep anybody from their work.
        const bool cannotLock = !locked && errno != EWOULDBLOCK && errno != EINTR;
        if (cannotLock || (locked && isStillAt(m_file, m_lockPath)))
            return;
        close(m_file);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (std::chrono::steady_clock::now() < until);
    throw Error("is being written by another Secateur", path, "Try again when it is done");
}

FileLock::~FileLock() {
    unlink(m_lockPath.c_str());
    close(m_file);
}

} // namespace secateur
