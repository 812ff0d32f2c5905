#include "backends/base/file_output.h"

#include "analysis/base/error.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

namespace secateur {

namespace {

constexpr std::size_t copiedAtOnce = std::size_t{16} << 20;  ///< so that cancelling takes effect within a second
constexpr std::size_t changedAtOnce = std::size_t{64} << 10; ///< the same block size as in FileOutput::write()

/// An output file.
class Output {
public:
    /// @param source the file from which pieces without a file of their own are copied; null if there are none
    Output(const std::string& path, const std::string& name, const MappedFile* source,
           const std::function<void(std::size_t)>& wrote)
        : m_file(path, name)
        , m_source(source)
        , m_wrote(wrote) {}

    void add(const FilePiece& piece) {
        const MappedFile* const source = piece.file ? piece.file.get() : m_source;
        if (piece.make)
            write(piece.make());
        else if (piece.source.empty())
            write(piece.own);
        else if (piece.change)
            change(piece, *source);
        else
            copy(piece.source, *source);
    }

private:
    void write(std::span<const std::byte> bytes) {
        m_file.write(bytes);
        m_wrote(bytes.size());
    }

    void copy(std::span<const std::byte> bytes, const MappedFile& source) {
        while (!bytes.empty()) {
            const auto part = bytes.first(std::min(bytes.size(), copiedAtOnce));
            const std::size_t copied = m_file.copy(source, part);
            bytes = bytes.subspan(copied);
            m_wrote(copied);
        }
    }

    void change(const FilePiece& piece, const MappedFile& source) {
        const std::size_t step = std::max(piece.unit, changedAtOnce / piece.unit * piece.unit);
        for (std::size_t begin = 0; begin < piece.source.size(); begin += step) {
            const auto part = piece.source.subspan(begin, std::min(step, piece.source.size() - begin));
            piece.change(static_cast<std::int64_t>(begin / piece.unit), part, m_changed);
            write(m_changed);
        }
        source.release(piece.source);
    }

    FileOutput m_file;
    const MappedFile* m_source;
    const std::function<void(std::size_t)>& m_wrote;
    std::vector<std::byte> m_changed;
};

} // namespace

void failWriting(const std::string& name, int reason) {
    throw Error("cannot be written: " + std::system_category().message(reason), name,
                reason == ENOSPC || reason == EDQUOT ? "Make room or choose another disk; nothing was changed"
                                                     : "Nothing was changed");
}

Descriptor::~Descriptor() {
    const int reason = errno;
    if (m_file >= 0)
        close(m_file);
    errno = reason;
}

FileOutput::FileOutput(const std::string& path, std::string name)
    : m_name(std::move(name))
    , m_file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (m_file.get() < 0)
        failWriting(m_name);
}

void FileOutput::write(std::span<const std::byte> bytes) {
    // Larger writes take several times as long, because recent kernels then allocate large pages.
    constexpr std::size_t writtenAtOnce = std::size_t{64} << 10;
    while (!bytes.empty()) {
        const ssize_t written = ::write(m_file.get(), bytes.data(), std::min(bytes.size(), writtenAtOnce));
        if (written < 0 && errno != EINTR)
            failWriting(m_name);
        bytes = bytes.subspan(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

std::size_t FileOutput::copy(const MappedFile& source, std::span<const std::byte> part) {
    for (;;) {
        const std::ptrdiff_t copied = source.copyTo(m_file.get(), part);
        if (copied > 0)
            return static_cast<std::size_t>(copied);
        if (copied < 0 && errno != EINTR)
            failWriting(m_name);
    }
}

std::vector<std::string> namesIn(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
    std::vector<std::string> names;
    while (const dirent* entry = open ? readdir(open.get()) : nullptr)
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    std::ranges::sort(names);
    return names;
}

void overwrite(const std::string& path, std::size_t offset, std::span<const std::byte> bytes) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
                              static_cast<ssize_t>(bytes.size()))
        failWriting(path);
}

void syncFile(const std::string& path, const std::string& name) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || fsync(file.get()) != 0)
        failWriting(name);
}

void syncFolder(const std::string& folder) {
    const Descriptor file(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (file.get() >= 0)
        fsync(file.get());
}

FilePiece copyOf(std::span<const std::byte> source) {
    FilePiece piece;
    piece.source = source;
    piece.bytes = source.size();
    return piece;
}

FilePiece pieceOf(std::vector<std::byte> own) {
    FilePiece piece;
    piece.bytes = own.size();
    piece.own = std::move(own);
    return piece;
}

void PieceWriter::writePieces(const std::string& path, const std::string& name, const MappedFile* source,
                              std::span<const FilePiece> pieces) {
    const std::function<void(std::size_t)> wrote = [&](std::size_t bytes) {
        m_done += bytes;
        m_progress.report(static_cast<double>(m_done) / static_cast<double>(std::max<std::size_t>(1, m_all)),
                          "writing " + name);
    };
    Output output(path, name, source, wrote);
    for (const FilePiece& piece : pieces)
        output.add(piece);
}

void PieceWriter::write(const std::string& path, const std::string& name, const MappedFile& source,
                        std::span<const FilePiece> pieces) {
    writePieces(path, name, &source, pieces);
    source.checkWhole();
}

void PieceWriter::write(const std::string& path, const std::string& name, std::span<const FilePiece> pieces) {
    writePieces(path, name, nullptr, pieces);
    std::set<const MappedFile*> sources;
    for (const FilePiece& piece : pieces)
        if (piece.file && sources.insert(piece.file.get()).second)
            piece.file->checkWhole();
}

} // namespace secateur
