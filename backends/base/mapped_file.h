#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class MappingGuard;

/// A file that is mapped for reading. All views of it share the mapping. Symbolic links are followed. If the file is
/// truncated while it is mapped, or the disk fails, the missing bytes read as zeros on every thread. checkWhole() then
/// reports the error.
class MappedFile {
public:
    /// Never waits, as for the other end of a named pipe.
    /// @throws Error if it cannot be opened, is not a regular file or is empty
    static std::shared_ptr<const MappedFile> open(const std::string& path);
    /// Treats bytes in memory as a file with this path. @throws Error if there are no bytes
    static std::shared_ptr<const MappedFile> inMemory(std::string path, std::vector<std::byte> bytes);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::string& path() const { return m_path; }
    std::span<const std::byte> bytes() const { return m_bytes; }
    /// Checks, with one system call, that all reads from bytes() so far were valid. Replacing the file by another of
    /// the same name does no harm.
    /// @throws Error if the file has become shorter, or a part of it could not be read
    void checkWhole() const;
    /// Whether the file was written to since it was opened: its size or the time of its last change differs.
    bool isOverwritten() const;
    /// Writes a part of bytes() to an open file, inside the kernel if the file systems support it.
    /// @return number of bytes written, at least one; -1 with errno set
    std::ptrdiff_t copyTo(int file, std::span<const std::byte> part) const;
    /// Announces that a part of bytes() will be read soon, so that the system reads it ahead.
    void expect(std::span<const std::byte> part) const;
    /// Announces scattered reads in a part of bytes(). The system reads nothing ahead until release().
    void expectScattered(std::span<const std::byte> part) const;
    /// Removes the pages that lie completely in a part of bytes() from this process's memory; an access reloads them.
    void release(std::span<const std::byte> part) const;

private:
    MappedFile(std::string path, int descriptor);
    void advise(std::span<const std::byte> part, int advice, bool inside) const;

    std::string m_path;
    int m_descriptor; ///< -1 in memory
    timespec m_changed{}; ///< time of the last change when it was opened
    std::vector<std::byte> m_owned;
    std::span<const std::byte> m_bytes;
    std::unique_ptr<const MappingGuard> m_guard; ///< null for bytes in memory
};

/// The first bytes of a regular file; fewer if it is shorter, none if it cannot be read or is something else.
std::string beginningOf(const std::string& path, std::size_t count);

/// Bytes as characters.
std::string_view charactersOf(std::span<const std::byte> bytes);

/// Reads little-endian values from an untrusted file, one after another. Every read is checked against the remaining
/// bytes.
class ByteReader {
public:
    ByteReader(std::span<const std::byte> bytes, std::string subject)
        : m_bytes(bytes)
        , m_subject(std::move(subject)) {}

    std::size_t position() const { return m_position; }
    std::size_t left() const { return m_bytes.size() - m_position; }
    /// The next `count` bytes. @param what names the value in the message "... ends inside WHAT" @throws Error if there
    /// are fewer
    std::span<const std::byte> take(std::uint64_t count, std::string_view what);
    std::uint8_t u8(std::string_view what);
    std::uint16_t u16(std::string_view what);
    std::uint32_t u32(std::string_view what);
    std::uint64_t u64(std::string_view what);
    /// A text that is stored as a 64-bit length followed by its bytes.
    std::string_view text(std::string_view what);

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
    std::string m_subject;
};

} // namespace secateur
