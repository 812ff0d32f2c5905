#pragma once

#include <string>

namespace secateur {

/// Keeps other Secateurs from changing a file while it lives. Waits for ten seconds at most.
/// @throws Error when the file cannot be opened or stays locked
class FileLock {
public:
    explicit FileLock(const std::string& path);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int m_file;
};

} // namespace secateur
