#pragma once

#include "analysis/base/progress.h"
#include "backends/base/mapped_file.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

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

/// A run of bytes of a file that is made from another one: some of its bytes as they are or changed, or bytes of its
/// own.
struct FilePiece {
    /// Fills `out` with what some whole units become. @param first the number of the first of them
    using Change =
        std::function<void(std::int64_t first, std::span<const std::byte> units, std::vector<std::byte>& out)>;

    std::span<const std::byte> source; ///< of the mapped file; empty = `own` counts
    std::vector<std::byte> own;
    std::size_t unit = 0;  ///< bytes of the source that are changed together
    Change change;         ///< empty = as they are
    std::size_t bytes = 0; ///< that it becomes
};

/// Bytes of a source as they are.
FilePiece copyOf(std::span<const std::byte> source);
/// Bytes that the source does not have.
FilePiece pieceOf(std::vector<std::byte> own);

/// Writes files out of pieces, one after the other, and says how far it is.
class PieceWriter {
public:
    /// @param bytes of all files together
    PieceWriter(const Progress& progress, std::size_t bytes)
        : m_progress(progress)
        , m_all(bytes) {}

    /// Makes a file, or overwrites one. What cannot be read of the source counts as 0: MappedFile::checkWhole() says.
    /// @param name what to call the file in errors
    /// @throws Error, Cancelled; half a file may be left
    void write(const std::string& path, const std::string& name, const MappedFile& source,
               std::span<const FilePiece> pieces);

private:
    const Progress& m_progress;
    std::size_t m_all;
    std::size_t m_done = 0;
};

} // namespace secateur
