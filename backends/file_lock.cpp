#include "backends/file_lock.h"

#include "analysis/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace secateur {

namespace {

/// Whoever held the lock may have renamed a new file into place: then the lock is on a file nobody sees any more.
bool isStillAt(int file, const std::string& path) {
    struct stat locked {};
    struct stat now {};
    return fstat(file, &locked) == 0 && stat(path.c_str(), &now) == 0 && locked.st_dev == now.st_dev &&
           locked.st_ino == now.st_ino;
}

} // namespace

FileLock::FileLock(const std::string& path)
    : m_file(-1) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
        m_file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (m_file < 0)
            throw Error("cannot be opened: " + std::system_category().message(errno), path);
        if (flock(m_file, LOCK_EX | LOCK_NB) == 0 && isStillAt(m_file, path))
            return;
        close(m_file);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw Error("is being written by another Secateur", path, "Try again when it is done");
}

FileLock::~FileLock() {
    close(m_file);
}

} // namespace secateur
