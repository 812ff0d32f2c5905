#pragma once

#include "backends/base/mapped_file.h"

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

namespace secateur {

/// Says why a file could not be written. @param name what to call it @param reason an errno
[[noreturn]] void failWriting(const std::string& name, int reason = errno);

/// Closes a descriptor and keeps errno for whoever tells of a failure.
class Descriptor {
public:
    explicit Descriptor(int file)
        : m_file(file) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return m_file; }

private:
    int m_file;
};

/// A file in the making: writing through a descriptor gives the reason of a failure, which a stream keeps to itself.
class FileOutput {
public:
    /// Makes the file, or empties one. @param name what to call it in errors @throws Error
    FileOutput(const std::string& path, std::string name);

    void write(std::span<const std::byte> bytes);
    /// Writes a beginning of a part of another file. @return its length, at least 1
    std::size_t copy(const MappedFile& source, std::span<const std::byte> part);

private:
    std::string m_name;
    Descriptor m_file;
};

/// Overwrites bytes of a file that is there. @throws Error
void overwrite(const std::string& path, std::size_t offset, std::span<const std::byte> bytes);
/// Puts the bytes of a file on the disk. @throws Error
void syncFile(const std::string& path, const std::string& name);
/// A rename is on the disk only when its folder is; file systems that cannot say so are left alone.
void syncFolder(const std::string& folder);

} // namespace secateur
