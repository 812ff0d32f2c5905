#include "backends/base/file_pieces.h"

#include "backends/base/file_output.h"

#include <algorithm>

namespace secateur {

namespace {

constexpr std::size_t copiedAtOnce = std::size_t{16} << 20;  ///< a stop takes effect within a part of a second
constexpr std::size_t changedAtOnce = std::size_t{64} << 10; ///< as much as is written best

/// One file in the making.
class Output {
public:
    Output(const std::string& path, const std::string& name, const MappedFile& source,
           const std::function<void(std::size_t)>& wrote)
        : m_file(path, name)
        , m_source(source)
        , m_wrote(wrote) {}

    void add(const FilePiece& piece) {
        if (piece.source.empty())
            write(piece.own);
        else if (piece.change)
            change(piece);
        else
            copy(piece.source);
    }

private:
    void write(std::span<const std::byte> bytes) {
        m_file.write(bytes);
        m_wrote(bytes.size());
    }

    void copy(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto part = bytes.first(std::min(bytes.size(), copiedAtOnce));
            const std::size_t copied = m_file.copy(m_source, part);
            bytes = bytes.subspan(copied);
            m_wrote(copied);
        }
    }

    void change(const FilePiece& piece) {
        const std::size_t step = std::max(piece.unit, changedAtOnce / piece.unit * piece.unit);
        for (std::size_t begin = 0; begin < piece.source.size(); begin += step) {
            const auto part = piece.source.subspan(begin, std::min(step, piece.source.size() - begin));
            piece.change(static_cast<std::int64_t>(begin / piece.unit), part, m_changed);
            write(m_changed);
        }
        m_source.release(piece.source);
    }

    FileOutput m_file;
    const MappedFile& m_source;
    const std::function<void(std::size_t)>& m_wrote;
    std::vector<std::byte> m_changed;
};

} // namespace

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

void PieceWriter::write(const std::string& path, const std::string& name, const MappedFile& source,
                        std::span<const FilePiece> pieces) {
    const std::function<void(std::size_t)> wrote = [&](std::size_t bytes) {
        m_done += bytes;
        m_progress.report(static_cast<double>(m_done) / static_cast<double>(std::max<std::size_t>(1, m_all)),
                          "writing " + name);
    };
    Output output(path, name, source, wrote);
    for (const FilePiece& piece : pieces)
        output.add(piece);
    source.checkWhole();
}

} // namespace secateur
