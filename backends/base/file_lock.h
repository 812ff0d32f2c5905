#pragma once

#include <chrono>
#include <string>

namespace secateur {

/// Keeps other Secateurs from changing a file while it lives, also one that does not exist yet. Others wait.
class FileLock {
public:
    /// @param patience how long to wait for another one
    /// @throws Error when the file stays locked, or its folder cannot be written
    explicit FileLock(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(10));
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    std::string m_lockPath; ///< a file beside the one it guards, which is renamed over and cannot carry a lock itself
    int m_file = -1;
};

} // namespace secateur
