#pragma once

#include "analysis/base/progress.h"
#include "backends/base/mapped_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

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
