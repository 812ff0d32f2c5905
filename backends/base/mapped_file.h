#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class MappingGuard;

/// A file mapped for reading, shared by everything that views it. Symbolic links are followed.
/// When the file is cut short while it is mapped, or the disk fails, what is missing reads as zeros on every thread,
/// and checkWhole() says so afterwards.
class MappedFile {
public:
    /// @throws Error when it cannot be opened, is not a regular file, or is empty
    static std::shared_ptr<const MappedFile> open(const std::string& path);
    /// Bytes in memory that pass for a file of that path. @throws Error when there are none
    static std::shared_ptr<const MappedFile> inMemory(std::string path, std::vector<std::byte> bytes);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const std::string& path() const { return m_path; }
    std::span<const std::byte> bytes() const { return m_bytes; }
    /// To be asked after numbers were read from bytes(); costs a system call. A file that another one took the name of
    /// stays whole. @throws Error when the file is shorter than it was, or some of it could not be read
    void checkWhole() const;
    /// Writes a part of bytes() to an open file, where the system can without passing it through this process.
    /// @return how much of it was written, at least one byte; -1 with errno set
    std::ptrdiff_t copyTo(int file, std::span<const std::byte> part) const;
    /// Has a part of bytes() read ahead.
    void expect(std::span<const std::byte> part) const;
    /// Says that little of a part of bytes() will be touched, here and there, until it is released.
    void expectScattered(std::span<const std::byte> part) const;
    /// Lets the pages that lie whole in a part of bytes() leave this process's memory; they come back when touched.
    void release(std::span<const std::byte> part) const;

private:
    MappedFile(std::string path, int descriptor);
    void advise(std::span<const std::byte> part, int advice, bool inside) const;

    std::string m_path;
    int m_descriptor; ///< -1 in memory
    std::vector<std::byte> m_owned;
    std::span<const std::byte> m_bytes;
    std::unique_ptr<const MappingGuard> m_guard; ///< of a mapping
};

/// Walks the little-endian bytes of a file of unknown origin; every read is checked against what is left.
class ByteReader {
public:
    ByteReader(std::span<const std::byte> bytes, std::string subject)
        : m_bytes(bytes)
        , m_subject(std::move(subject)) {}

    std::size_t position() const { return m_position; }
    std::size_t left() const { return m_bytes.size() - m_position; }
    /// @throws Error "... ends inside WHAT"
    std::span<const std::byte> take(std::uint64_t count, std::string_view what);
    std::uint8_t u8(std::string_view what);
    std::uint16_t u16(std::string_view what);
    std::uint32_t u32(std::string_view what);
    std::uint64_t u64(std::string_view what);
    /// A length of 64 bits and as many bytes.
    std::string_view text(std::string_view what);

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
    std::string m_subject;
};

} // namespace secateur
