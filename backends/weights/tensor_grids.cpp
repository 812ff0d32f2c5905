#include "backends/weights/tensor_grids.h"

#include "analysis/base/error.h"
#include "backends/formats/rotary_rows.h"
#include "backends/weights/decoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace secateur {

namespace {

std::int64_t columnsOfEntry(const TensorEntry& entry) {
    return entry.shape.empty() ? 1 : entry.shape.back();
}

std::int64_t rowsOfEntry(const TensorEntry& entry) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i + 1 < entry.shape.size(); ++i)
        count *= entry.shape[i];
    return count;
}

/// The tensor as it is stored.
class ValueGrid : public NumberGrid {
public:
    explicit ValueGrid(TensorEntry entry)
        : NumberGrid(rowsOfEntry(entry), columnsOfEntry(entry))
        , m_entry(std::move(entry)) {}

    void read(std::int64_t begin, std::span<float> target) const override { decode(m_entry, begin, target); }
    int symbolParts() const override { return secateur::symbolParts(*m_entry.type); }
    int symbolKinds() const override { return secateur::symbolKinds(*m_entry.type); }
    std::vector<float> symbolNumbers() const override { return secateur::symbolNumbers(*m_entry.type); }
    void readSymbols(std::int64_t begin, int part, std::span<std::uint16_t> target) const override {
        decodeSymbols(m_entry, begin, part, target);
    }
    void check() const override { m_entry.file->checkWhole(); }
    std::string subject() const override { return m_entry.subject(); }

private:
    TensorEntry m_entry;
};

/// The scales or minima of a quantised tensor.
class ScaleGrid : public NumberGrid {
public:
    ScaleGrid(TensorEntry entry, BlockPart part, std::int64_t scaleElements)
        : NumberGrid(rowsOfEntry(entry), columnsOfEntry(entry) / scaleElements)
        , m_entry(std::move(entry))
        , m_part(part)
        , m_scaleElements(scaleElements) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        constexpr std::int64_t scalesAtOnce = 256;
        std::vector<float> numbers;
        for (std::size_t done = 0; done < target.size(); done += static_cast<std::size_t>(scalesAtOnce)) {
            const auto count = std::min(scalesAtOnce, static_cast<std::int64_t>(target.size() - done));
            numbers.resize(static_cast<std::size_t>(count * m_scaleElements));
            decodePart(m_entry, m_part, (begin + static_cast<std::int64_t>(done)) * m_scaleElements, numbers);
            for (std::int64_t i = 0; i < count; ++i)
                target[done + static_cast<std::size_t>(i)] = numbers[static_cast<std::size_t>(i * m_scaleElements)];
        }
    }
    void check() const override { m_entry.file->checkWhole(); }
    std::string subject() const override { return m_entry.subject(); }

private:
    TensorEntry m_entry;
    BlockPart m_part;
    std::int64_t m_scaleElements;
};

/// A weight as [out, in]. A vector is one row.
class WeightGrid : public NumberGrid {
public:
    WeightGrid(TensorEntry entry, const TensorPart& part, std::int64_t headSize)
        : NumberGrid(entry.shape.size() < 2 ? 1 : part.rows, columnsOfWeight(entry, part))
        , m_entry(std::move(entry))
        , m_part(part)
        , m_headSize(headSize) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        if (m_part.transposed)
            readTransposed(begin, target);
        else if (m_part.pairedHeads == 0)
            decode(m_entry, m_part.begin * (isVector() ? 1 : columns()) + begin, target);
        else if (isVector())
            for (std::size_t i = 0; i < target.size(); ++i)
                decode(m_entry, stored(begin + static_cast<std::int64_t>(i)), target.subspan(i, 1));
        else
            readRows(begin, target);
        if (m_part.offset != 0)
            for (float& number : target)
                number -= static_cast<float>(m_part.offset);
    }
    void check() const override { m_entry.file->checkWhole(); }
    std::string subject() const override { return m_entry.subject(); }

private:
    static std::int64_t columnsOfWeight(const TensorEntry& entry, const TensorPart& part) {
        if (entry.shape.size() < 2)
            return part.rows;
        return part.transposed ? entry.shape.front() : entry.shape.back();
    }

    bool isVector() const { return m_entry.shape.size() < 2; }
    /// The row of the tensor that has a row of the weight.
    std::int64_t stored(std::int64_t row) const {
        return m_part.begin + (m_part.pairedHeads > 0 ? pairedRow(row, m_headSize) : row);
    }

    void readRows(std::int64_t begin, std::span<float> target) const {
        for (std::size_t done = 0; done < target.size();) {
            const std::int64_t place = begin + static_cast<std::int64_t>(done);
            const std::int64_t column = place % columns();
            const auto count = std::min(static_cast<std::size_t>(columns() - column), target.size() - done);
            decode(m_entry, stored(place / columns()) * columns() + column, target.subspan(done, count));
            done += count;
        }
    }

    /// Reads the rows of the tensor that cross the wanted rows of the weight.
    void readTransposed(std::int64_t begin, std::span<float> target) const {
        const auto size = static_cast<std::int64_t>(target.size());
        if (size == 0)
            return;
        const std::int64_t first = begin / columns();
        const std::int64_t last = (begin + size - 1) / columns();
        const std::int64_t width = m_entry.shape.back();
        std::vector<float> crossing(static_cast<std::size_t>(last - first + 1));
        for (std::int64_t column = 0; column < columns(); ++column) {
            decode(m_entry, column * width + m_part.begin + first, crossing);
            for (std::int64_t row = first; row <= last; ++row) {
                const std::int64_t place = row * columns() + column - begin;
                if (place >= 0 && place < size)
                    target[static_cast<std::size_t>(place)] = crossing[static_cast<std::size_t>(row - first)];
            }
        }
    }

    TensorEntry m_entry;
    TensorPart m_part;
    std::int64_t m_headSize;
};

void checkReadable(const TensorEntry& entry) {
    if (!isReadable(*entry.type))
        throw Error(fmt::format("is stored as {}, which is not supported", entry.type->name), entry.subject(),
                    "Supported types are " + readableTypes(*entry.type));
}

/// The stored bytes of a number as a hexadecimal number.
std::string bitsOf(const TensorEntry& entry, std::int64_t place) {
    std::uint64_t bits = 0;
    const auto size = static_cast<std::size_t>(entry.type->bytes);
    std::memcpy(&bits, entry.data.data() + place * entry.type->bytes, size);
    return fmt::format("0x{:0{}x}", bits, 2 * size);
}

/// The decoded number; numbers of 64 bits are not rounded to float32.
double decodedNumber(const TensorEntry& entry, std::int64_t place) {
    const std::byte* const source = entry.data.data() + place * entry.type->bytes;
    const auto as = [source]<typename Stored>(Stored stored) {
        std::memcpy(&stored, source, sizeof stored);
        return static_cast<double>(stored);
    };
    switch (entry.type->reading) {
    case StorageType::Reading::float64:
        return as(double{});
    case StorageType::Reading::int64:
        return as(std::int64_t{});
    case StorageType::Reading::int32:
        return as(std::int32_t{});
    default: {
        float number = 0;
        decode(entry, place, {&number, 1});
        return static_cast<double>(number);
    }
    }
}

void fillCode(StoredNumber& number, const TensorEntry& entry, const BlockLayout& layout, std::int64_t place) {
    const auto part = [&](BlockPart which) {
        float value = 0;
        decodePart(entry, which, place, {&value, 1});
        return static_cast<double>(value);
    };
    number.code = static_cast<int>(part(BlockPart::codes));
    number.scale = part(BlockPart::scales);
    number.minimum = layout.zeroCodes.empty() ? 0 : part(BlockPart::minima);
    number.block = place % columnsOfEntry(entry) / layout.scaleElements;
}

} // namespace

bool isReadable(const StorageType& type) {
    return type.reading != StorageType::Reading::unsupported;
}

std::shared_ptr<const NumberGrid> tensorGrid(const TensorEntry& entry, TensorPlane plane) {
    checkReadable(entry);
    if (plane == TensorPlane::values)
        return std::make_shared<ValueGrid>(entry);
    const BlockLayout* const layout = blockLayout(*entry.type);
    if (!layout || (plane == TensorPlane::minima && layout->zeroCodes.empty()))
        throw Error(fmt::format("is stored as {}, which has no {}", entry.type->name, name(plane)), entry.subject());
    return std::make_shared<ScaleGrid>(entry, plane == TensorPlane::scales ? BlockPart::scales : BlockPart::minima,
                                       layout->scaleElements);
}

std::shared_ptr<const NumberGrid> weightGrid(const TensorEntry& entry, const TensorPart& part, int headSize) {
    checkReadable(entry);
    return std::make_shared<WeightGrid>(entry, part, headSize);
}

StoredNumber storedNumber(const TensorEntry& entry, std::int64_t place) {
    checkReadable(entry);
    StoredNumber number;
    number.value = decodedNumber(entry, place);
    if (const BlockLayout* const layout = blockLayout(*entry.type))
        fillCode(number, entry, *layout, place);
    else
        number.bits = bitsOf(entry, place);
    entry.file->checkWhole();
    return number;
}

} // namespace secateur
