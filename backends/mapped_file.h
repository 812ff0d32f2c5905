#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace secateur {

/// A file mapped for reading, shared by everything that views it. Symbolic links are followed.
class MappedFile {
public:
    /// @throws Error when it cannot be opened or is not a regular file
    static std::shared_ptr<const MappedFile> open(const std::string& path);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::string& path() const { return m_path; }
    std::span<const std::byte> bytes() const { return m_bytes; }

private:
    MappedFile(std::string path, std::span<const std::byte> bytes);

    std::string m_path;
    std::span<const std::byte> m_bytes;
};

} // namespace secateur
