#include "backends/export/target_tensor.h"

#include "backends/formats/encode.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace secateur {

namespace {

/// Consecutive indices [begin, end), or zeros if begin is zeroIndex.
struct Run {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    bool isZero() const { return begin == zeroIndex; }
};

std::vector<Run> runsOf(const std::vector<std::int64_t>& indices) {
    std::vector<Run> runs;
    for (const std::int64_t index : indices) {
        const bool continues =
            !runs.empty() &&
            (index == zeroIndex ? runs.back().isZero()
                                : !runs.back().isZero() && runs.back().begin + runs.back().count == index);
        if (continues)
            ++runs.back().count;
        else
            runs.push_back({index, 1});
    }
    return runs;
}

bool isVector(const TensorEntry& entry) {
    return entry.shape.size() < 2;
}

std::int64_t widthOf(const TensorEntry& entry) {
    return isVector(entry) ? entry.elements() : entry.shape.back();
}

/// Bytes of stored columns. @param row a stored row
void copyColumns(const StorageType& type, const std::vector<Run>& columns, std::span<const std::byte> row,
                 std::vector<std::byte>& out) {
    for (const Run& run : columns) {
        const std::size_t bytes = storedBytes(type, run.count);
        if (run.isZero()) {
            out.resize(out.size() + bytes);
            continue;
        }
        const auto part = row.subspan(storedBytes(type, run.begin), bytes);
        out.insert(out.end(), part.begin(), part.end());
    }
}

/// What is done with the numbers of each row.
struct RowChange {
    std::optional<std::vector<Run>> columns;
    std::vector<float> columnFactors;
    std::vector<float> added;

    std::vector<float> applied(std::span<const float> row, float factor) const {
        std::vector<float> changed;
        if (columns) {
            for (const Run& run : *columns) {
                if (run.isZero())
                    changed.insert(changed.end(), static_cast<std::size_t>(run.count), 0.0F);
                else
                    changed.insert(changed.end(), row.begin() + run.begin, row.begin() + run.begin + run.count);
            }
        } else {
            changed.assign(row.begin(), row.end());
        }
        for (std::size_t i = 0; i < changed.size(); ++i) {
            if (factor != 1)
                changed[i] *= factor;
            if (!columnFactors.empty())
                changed[i] *= columnFactors[i];
            if (!added.empty())
                changed[i] += added[i];
        }
        return changed;
    }
};

/// Selects the pieces of one tensor.
class Selector {
public:
    Selector(const TensorEntry& entry, const TensorSelection& selection, const StorageType& type)
        : m_entry(entry)
        , m_selection(selection)
        , m_type(type)
        , m_width(widthOf(entry))
        , m_columns(selection.columns ? static_cast<std::int64_t>(selection.columns->size()) : m_width)
        , m_rowBytes(storedBytes(*entry.type, m_width))
        , m_targetBytes(storedBytes(type, m_columns))
        , m_copies(type.name == entry.type->name && keepsBlocks(entry, selection)) {
        auto change = std::make_shared<RowChange>();
        if (selection.columns)
            change->columns = runsOf(*selection.columns);
        change->columnFactors = selection.columnFactors;
        change->added = selection.added;
        m_change = std::move(change);
    }

    std::vector<FilePiece> pieces() const {
        std::vector<FilePiece> pieces;
        std::size_t row = 0;
        for (const Run& run : runsOf(m_selection.rows)) {
            const auto count = static_cast<std::size_t>(run.count);
            FilePiece piece = run.isZero() ? zeros(count) : stored(run, row);
            if (piece.bytes > 0)
                pieces.push_back(std::move(piece));
            row += count;
        }
        return pieces;
    }

private:
    FilePiece zeros(std::size_t rows) const {
        if (m_copies || m_selection.added.empty())
            return pieceOf(std::vector<std::byte>(rows * m_targetBytes));
        std::vector<float> numbers;
        for (std::size_t row = 0; row < rows; ++row)
            numbers.insert(numbers.end(), m_selection.added.begin(), m_selection.added.end());
        return pieceOf(encodedRows(m_type, numbers, static_cast<std::size_t>(m_columns)));
    }

    /// @param row index of the run's first row among the selected rows
    FilePiece stored(const Run& run, std::size_t row) const {
        FilePiece piece;
        piece.file = m_entry.file;
        piece.source = m_entry.data.subspan(static_cast<std::size_t>(run.begin) * m_rowBytes,
                                            static_cast<std::size_t>(run.count) * m_rowBytes);
        piece.bytes = static_cast<std::size_t>(run.count) * m_targetBytes;
        if (m_copies && !m_selection.columns)
            return piece;
        piece.unit = m_rowBytes;
        if (m_copies)
            piece.change = [change = m_change, type = m_entry.type, rowBytes = m_rowBytes](
                               std::int64_t, std::span<const std::byte> rows, std::vector<std::byte>& out) {
                out.clear();
                for (; !rows.empty(); rows = rows.subspan(rowBytes))
                    copyColumns(*type, *change->columns, rows.first(rowBytes), out);
            };
        else
            piece.change = [change = m_change, entry = m_entry, type = &m_type,
                            width = static_cast<std::size_t>(m_width), factors = factorsOf(row, run.count)](
                               std::int64_t first, std::span<const std::byte> rows, std::vector<std::byte>& out) {
                const std::vector<float> numbers = storedNumbers(entry, rows);
                out.clear();
                for (std::size_t i = 0; i * width < numbers.size(); ++i) {
                    const float factor = factors.empty() ? 1 : factors[static_cast<std::size_t>(first) + i];
                    const std::vector<float> changed =
                        change->applied(std::span(numbers).subspan(i * width, width), factor);
                    const std::vector<std::byte> bytes = encodedRows(*type, changed, changed.size());
                    out.insert(out.end(), bytes.begin(), bytes.end());
                }
            };
        return piece;
    }

    std::vector<float> factorsOf(std::size_t row, std::int64_t count) const {
        if (m_selection.rowFactors.empty())
            return {};
        const auto begin = m_selection.rowFactors.begin() + static_cast<std::ptrdiff_t>(row);
        return {begin, begin + count};
    }

    const TensorEntry& m_entry;
    const TensorSelection& m_selection;
    const StorageType& m_type;
    std::int64_t m_width;
    std::int64_t m_columns;
    std::size_t m_rowBytes;
    std::size_t m_targetBytes;
    bool m_copies; ///< whether stored bytes are copied
    std::shared_ptr<const RowChange> m_change;
};

} // namespace

std::size_t storedBytes(const StorageType& type, std::int64_t numbers) {
    return static_cast<std::size_t>(numbers / type.elements * type.bytes);
}

std::size_t TargetTensor::bytes() const {
    std::size_t bytes = 0;
    for (const FilePiece& piece : pieces)
        bytes += piece.bytes;
    return bytes;
}

bool keepsBlocks(const TensorEntry& entry, const TensorSelection& selection) {
    if (!selection.rowFactors.empty() || !selection.columnFactors.empty() || !selection.added.empty())
        return false;
    if (!selection.columns)
        return true;
    const std::int64_t block = entry.type->elements;
    return std::ranges::all_of(runsOf(*selection.columns), [block](const Run& run) {
        return run.count % block == 0 && (run.isZero() || run.begin % block == 0);
    });
}

std::vector<FilePiece> selectedPieces(const TensorEntry& entry, const TensorSelection& selection,
                                      const StorageType& type) {
    return Selector(entry, selection, type).pieces();
}

std::vector<float> storedNumbers(const TensorEntry& entry, std::span<const std::byte> rows) {
    const StorageType& type = *entry.type;
    const auto blocks = static_cast<std::int64_t>(rows.size()) / type.bytes;
    std::vector<float> numbers(static_cast<std::size_t>(blocks * type.elements));
    if (type.unpack) {
        type.unpack(rows.data(), blocks, numbers.data());
        return numbers;
    }
    TensorEntry part = entry;
    part.data = rows;
    part.shape = {blocks};
    const at::Tensor values = readTensor(part).to(at::kFloat).contiguous();
    std::copy_n(values.data_ptr<float>(), values.numel(), numbers.begin());
    return numbers;
}

std::vector<std::byte> encodedRows(const StorageType& type, std::span<const float> numbers, std::size_t width) {
    std::vector<std::byte> bytes(storedBytes(type, static_cast<std::int64_t>(numbers.size())));
    const std::size_t rowBytes = storedBytes(type, static_cast<std::int64_t>(width));
    for (std::size_t row = 0; row * width < numbers.size(); ++row)
        encodeRow(type, numbers.subspan(row * width, width), std::span(bytes).subspan(row * rowBytes, rowBytes));
    return bytes;
}

} // namespace secateur
