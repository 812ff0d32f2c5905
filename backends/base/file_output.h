#pragma once

#include "analysis/base/progress.h"
#include "backends/base/mapped_file.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// Reports that a file could not be written. @throws Error always
/// @param name the file's name in the message @param reason an errno value
[[noreturn]] void failWriting(const std::string& name, int reason = errno);

/// Owns a file descriptor. Closing it keeps errno unchanged, so that a failure can be reported afterwards.
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

/// A file that is being written. It uses a descriptor, because C++ streams do not report why a write failed.
class FileOutput {
public:
    /// Creates or truncates the file. @param name for error messages @throws Error
    FileOutput(const std::string& path, std::string name);

    void write(std::span<const std::byte> bytes);
    /// Copies a beginning of `part` of another file; call again for the rest. @return number of copied bytes, at least
    /// 1
    std::size_t copy(const MappedFile& source, std::span<const std::byte> part);

private:
    std::string m_name;
    Descriptor m_file;
};

/// The names in a folder, sorted; none if it cannot be read. Unlike the standard library's iterator, which ends the
/// program if an allocation fails, it throws.
std::vector<std::string> namesIn(const std::string& folder);
/// Overwrites bytes of an existing file. @throws Error
void overwrite(const std::string& path, std::size_t offset, std::span<const std::byte> bytes);
/// Flushes a file to the disk. @throws Error
void syncFile(const std::string& path, const std::string& name);
/// Flushes a folder to the disk, including renames in it. Failures are ignored, because not every file system supports
/// flushing folders.
void syncFolder(const std::string& folder);

/// A range of bytes of an output file. The bytes are copied from a source file, changed on the way, or new.
struct FilePiece {
    /// Writes changed units to `out`. @param units bytes of whole units @param first index of the first unit in the
    /// source
    using Change =
        std::function<void(std::int64_t first, std::span<const std::byte> units, std::vector<std::byte>& out)>;

    std::span<const std::byte> source; ///< bytes of the mapped source file; empty = `make` or `own` is written
    std::vector<std::byte> own;
    std::size_t unit = 0;  ///< size in bytes of a unit, that is, of bytes that are changed together
    Change change;         ///< empty = the source is copied unchanged
    std::size_t bytes = 0; ///< number of bytes in the output
    std::function<std::vector<std::byte>()> make = {}; ///< computes `bytes` bytes when they are written
    std::shared_ptr<const MappedFile> file = nullptr;  ///< the source file, if it is not that of PieceWriter::write()
};

/// A piece that copies bytes of a source.
FilePiece copyOf(std::span<const std::byte> source);
/// A piece of new bytes.
FilePiece pieceOf(std::vector<std::byte> own);

/// Writes files that consist of pieces, and reports progress.
class PieceWriter {
public:
    /// @param bytes total size of all files, for the progress
    PieceWriter(const Progress& progress, std::size_t bytes)
        : m_progress(progress)
        , m_all(bytes) {}

    /// Creates or overwrites a file from pieces. Checks afterwards that the source could be read completely.
    /// @param name the file's name in error messages
    /// @throws Error, Cancelled; an incomplete file may be left
    void write(const std::string& path, const std::string& name, const MappedFile& source,
               std::span<const FilePiece> pieces);
    /// The same for pieces of several source files: FilePiece::file is set where FilePiece::source is.
    void write(const std::string& path, const std::string& name, std::span<const FilePiece> pieces);

private:
    void writePieces(const std::string& path, const std::string& name, const MappedFile* source,
                     std::span<const FilePiece> pieces);

    const Progress& m_progress;
    std::size_t m_all;
    std::size_t m_done = 0;
};

} // namespace secateur
