#include "backends/export/weight_cuts.h"

#include "analysis/base/error.h"
#include "analysis/masks/pruning_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

/// Sets the bits of `target` that `mask` selects to those of `bits`.
void setBits(std::byte& target, unsigned mask, unsigned bits) {
    target = (target & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(bits & mask);
}

// The block layouts are explained in quants.cpp. In this file, a part of a block is the set of numbers that share a
// scale.

void partQ2_K(std::byte* block, int part) {
    block[part] = std::byte{0}; // the byte contains the scale and the minimum of the part
}

/// The stored code of the scale 0. Scales of Q3_K and IQ4_XS are stored with an offset of 32.
constexpr unsigned noScale = 32;

void partQ3_K(std::byte* block, int part) {
    std::byte* scales = block + 96;
    const int low = 4 * (part / 8);
    const int high = 2 * (part / 4);
    setBits(scales[part % 8], 15U << low, (noScale & 15U) << low);
    setBits(scales[8 + part % 4], 3U << high, noScale >> 4 << high);
}

void numberQ3_K(std::byte* block, int number) {
    const int run = number / 32;
    const int place = number % 32;
    setBits(block[place], 1U << run, 1U << run); // 4 is subtracted from numbers whose bit is 0
    setBits(block[32 + 32 * (run / 4) + place], 3U << 2 * (run % 4), 0);
}

/// Sets a part of a Q4_K or Q5_K block to 0.
void partOfPacked(std::byte* block, int run) {
    std::byte* packed = block + 4;
    constexpr unsigned six = 63;
    if (run < 4) {
        setBits(packed[run], six, 0);
        setBits(packed[4 + run], six, 0);
        return;
    }
    packed[4 + run] = std::byte{0};
    setBits(packed[run - 4], ~six, 0);
    setBits(packed[run], ~six, 0);
}

void partQ6_K(std::byte* block, int part) {
    block[192 + part] = std::byte{0};
}

void numberQ6_K(std::byte* block, int number) {
    constexpr unsigned middle = 32;
    const int run = number / 32;
    const int place = number % 32;
    const int low = 4 * (run % 4 / 2);
    const int high = 2 * (run % 4);
    setBits(block[64 * (run / 4) + 32 * (run % 2) + place], 15U << low, (middle & 15U) << low);
    setBits(block[128 + 32 * (run / 4) + place], 3U << high, middle >> 4 << high);
}

void partIQ4_XS(std::byte* block, int run) {
    const int low = 4 * (run % 2);
    const int high = 2 * (run % 4);
    setBits(block[4 + run / 2], 15U << low, (noScale & 15U) << low);
    setBits(block[2 + run / 4], 3U << high, noScale >> 4 << high);
}

void setNibble(std::byte* nibbles, int number, unsigned value) {
    const int shift = number < 16 ? 0 : 4;
    setBits(nibbles[number % 16], 15U << shift, value << shift);
}

void numberQ4_0(std::byte* block, int number) {
    setNibble(block + 2, number, 8);
}

void numberQ5_0(std::byte* block, int number) {
    setNibble(block + 6, number, 0);
    setBits(block[2 + number / 8], 1U << number % 8, 1U << number % 8); // sets the fifth bit only: code 16 stands for 0
}

void numberQ8_0(std::byte* block, int number) {
    block[2 + number] = std::byte{0};
}

/// How numbers of a block type are set to 0.
struct Zeroing {
    std::string_view type;
    int part;                                                   ///< number of numbers that share a scale
    void (*zeroPart)(std::byte* block, int part) = nullptr;     ///< null = all numbers of a block share one scale
    void (*zeroNumber)(std::byte* block, int number) = nullptr; ///< null = the type has no code for 0
};

constexpr std::array zeroings{
    Zeroing{"Q4_0", 32, nullptr, numberQ4_0},
    Zeroing{"Q4_1", 32},
    Zeroing{"Q5_0", 32, nullptr, numberQ5_0},
    Zeroing{"Q5_1", 32},
    Zeroing{"Q8_0", 32, nullptr, numberQ8_0},
    Zeroing{"Q2_K", 16, partQ2_K},
    Zeroing{"Q3_K", 16, partQ3_K, numberQ3_K},
    Zeroing{"Q4_K", 32, partOfPacked},
    Zeroing{"Q5_K", 32, partOfPacked},
    Zeroing{"Q6_K", 16, partQ6_K, numberQ6_K},
    Zeroing{"IQ4_NL", 32},
    Zeroing{"IQ4_XS", 32, partIQ4_XS},
};

/// The table row for a type. A type without a row can only be set to 0 in whole blocks.
Zeroing zeroingOf(const StorageType& type) {
    const auto found = std::ranges::find(zeroings, type.name, &Zeroing::type);
    return found == zeroings.end() ? Zeroing{type.name, type.elements} : *found;
}

/// Sets the numbers [begin, end) of a block to 0.
void zeroInBlock(const StorageType& type, const Zeroing& zeroing, std::byte* block, int begin, int end) {
    if (begin == 0 && end == type.elements) {
        std::memset(block, 0, static_cast<std::size_t>(type.bytes)); // also clears the scale of the block
        return;
    }
    for (int number = begin; number < end;) {
        const int part = number / zeroing.part;
        if (zeroing.zeroPart && number % zeroing.part == 0 && number + zeroing.part <= end) {
            zeroing.zeroPart(block, part);
            number += zeroing.part;
        } else {
            zeroing.zeroNumber(block, number++);
        }
    }
}

std::vector<NumberRange> cutRanges(const std::vector<bool>& kept, std::int64_t width, std::int64_t begin) {
    std::vector<NumberRange> ranges;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const std::int64_t from = begin + static_cast<std::int64_t>(i) * width;
        if (kept[i])
            continue;
        if (!ranges.empty() && ranges.back().end == from)
            ranges.back().end += width;
        else
            ranges.push_back({from, from + width});
    }
    return ranges;
}

std::vector<bool> cutRows(const std::vector<NumberRange>& ranges, std::int64_t count) {
    std::vector<bool> rows(static_cast<std::size_t>(count));
    for (const NumberRange& range : ranges)
        std::fill(rows.begin() + range.begin, rows.begin() + range.end, true);
    return rows;
}

class Cutter {
public:
    Cutter(const TensorSlots& slots, const ModelSpec& spec)
        : m_slots(slots)
        , m_spec(spec) {}

    void cutLayer(int index, const LayerMask& mask) {
        const LayerSpec& layer = m_spec.layers[static_cast<std::size_t>(index)];
        if (dropsAttention(mask))
            cutWhole(index, WeightName::output, WeightName::outputBias);
        else if (layer.attention != AttentionKind::linear) // linear attention is a single matrix without heads
            cutInputs(index, WeightName::output, mask.heads, layer.headDim);
        if (dropsMlp(mask)) {
            cutWhole(index, WeightName::down, WeightName::downBias);
        } else {
            cutOutputs(index, WeightName::up, mask.neurons);
            cutOutputs(index, WeightName::upBias, mask.neurons);
        }
    }

    std::vector<WeightCut> take() {
        const auto place = [](const WeightCut& cut) {
            return std::pair(cut.entry->file->path(), cut.entry->data.data());
        };
        std::ranges::sort(m_cuts, {}, place);
        return std::move(m_cuts);
    }

private:
    void cutWhole(int layer, WeightName matrix, WeightName bias) {
        for (const WeightName which : {matrix, bias})
            if (const TensorSlot slot = m_slots.slot(layer, which); slot.entry)
                cutOutputs(layer, which, std::vector<bool>(static_cast<std::size_t>(slot.rows)));
    }

    /// Cuts inputs of a matrix, which are columns of [out, in].
    void cutInputs(int layer, WeightName which, const std::vector<bool>& kept, int width) {
        const TensorSlot slot = m_slots.slot(layer, which);
        add(slot, cutRanges(kept, width, 0), slot.transposed);
    }

    /// Cuts outputs of a matrix, which are rows of [out, in], or entries of a bias.
    void cutOutputs(int layer, WeightName which, const std::vector<bool>& kept) {
        const TensorSlot slot = m_slots.slot(layer, which);
        add(slot, cutRanges(kept, 1, slot.begin), slot.entry && slot.entry->shape.size() > 1 && !slot.transposed);
    }

    void add(const TensorSlot& slot, std::vector<NumberRange> ranges, bool alongRows) {
        if (!slot.entry || ranges.empty())
            return;
        const StorageType& type = *slot.entry->type;
        if (type.reading == StorageType::Reading::unsupported)
            throw Error(fmt::format("is stored as {}, which cannot be read", type.name), slot.entry->subject(),
                        "Types that can be read are " + readableTypes(type));
        WeightCut cut{slot.entry, {}, {}, false};
        if (alongRows)
            cut.rows = cutRows(ranges, slot.entry->shape.front());
        else
            cut.columns = std::move(ranges);
        cut.isWidened = !std::ranges::all_of(cut.columns, [&](NumberRange range) { return canZero(type, range); });
        m_cuts.push_back(std::move(cut));
    }

    const TensorSlots& m_slots;
    const ModelSpec& m_spec;
    std::vector<WeightCut> m_cuts;
};

/// Rejects cuts of tensors that share their bytes with other tensors, such as tied weights in a state dict, because the
/// other tensors would be cut too.
void refuseShared(const std::vector<WeightCut>& cuts, const TensorSlots& slots) {
    for (const WeightCut& cut : cuts) {
        const auto overlaps = [&](const TensorSlot& slot) {
            const auto& [own, other] = std::pair(cut.entry->data, slot.entry->data);
            return slot.entry != cut.entry && slot.entry->file == cut.entry->file &&
                   own.data() < other.data() + other.size() && other.data() < own.data() + own.size();
        };
        const auto other = std::ranges::find_if(slots.used(), overlaps);
        if (other != slots.used().end())
            throw Error(fmt::format("shares its numbers with {}: a cut in one would cut both", other->entry->name),
                        cut.entry->subject(), "Save the model with weights of its own for each layer");
    }
}

void zeroRows(const WeightCut& cut, std::int64_t firstRow, std::span<const std::byte> source,
              std::vector<std::byte>& target) {
    const auto bytes = static_cast<std::size_t>(cut.rowBytes());
    target.resize(source.size());
    for (std::size_t i = 0; i * bytes < source.size(); ++i) {
        const std::span row(target.data() + i * bytes, bytes);
        // Rows that are cut completely need not be read.
        if (!cut.rows.empty() && cut.rows[static_cast<std::size_t>(firstRow) + i]) {
            std::ranges::fill(row, std::byte{0});
            continue;
        }
        std::memcpy(row.data(), source.data() + i * bytes, bytes);
        for (const NumberRange& range : cut.columns)
            zeroNumbers(*cut.entry->type, row, range);
    }
}

void widenRows(const WeightCut& cut, std::span<const std::byte> source, std::vector<std::byte>& target) {
    const StorageType& type = *cut.entry->type;
    const auto blocks = static_cast<std::int64_t>(source.size()) / type.bytes;
    std::vector<float> numbers(static_cast<std::size_t>(blocks * type.elements));
    type.unpack(source.data(), blocks, numbers.data());
    const auto width = static_cast<std::size_t>(cut.entry->shape.back());
    for (std::size_t row = 0; row < numbers.size(); row += width)
        for (const NumberRange& range : cut.columns)
            std::fill(numbers.begin() + static_cast<std::ptrdiff_t>(row) + range.begin,
                      numbers.begin() + static_cast<std::ptrdiff_t>(row) + range.end, 0.0F);
    target.resize(numbers.size() * sizeof(float));
    std::memcpy(target.data(), numbers.data(), target.size());
}

} // namespace

bool canZero(const StorageType& type, NumberRange range) {
    const Zeroing zeroing = zeroingOf(type);
    return zeroing.zeroNumber || (range.begin % zeroing.part == 0 && range.end % zeroing.part == 0);
}

void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range) {
    if (type.elements == 1) {
        std::memset(row.data() + range.begin * type.bytes, 0,
                    static_cast<std::size_t>((range.end - range.begin) * type.bytes));
        return;
    }
    const Zeroing zeroing = zeroingOf(type);
    for (std::int64_t number = range.begin; number < range.end;) {
        const std::int64_t block = number / type.elements;
        const std::int64_t end = std::min(range.end, (block + 1) * type.elements);
        zeroInBlock(type, zeroing, row.data() + block * type.bytes, static_cast<int>(number % type.elements),
                    static_cast<int>(end - block * type.elements));
        number = end;
    }
}

std::int64_t WeightCut::rowCount() const {
    return entry->shape.size() > 1 ? entry->elements() / std::max<std::int64_t>(1, entry->shape.back()) : 1;
}

std::int64_t WeightCut::rowBytes() const {
    return static_cast<std::int64_t>(entry->data.size()) / std::max<std::int64_t>(1, rowCount());
}

std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask) {
    Cutter cutter(slots, spec);
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (mask.tiedTo(layer).front() == layer)
            cutter.cutLayer(layer, mask.layer(layer));
    std::vector<WeightCut> cuts = cutter.take();
    refuseShared(cuts, slots);
    return cuts;
}

FilePiece pieceOf(const WeightCut& cut) {
    FilePiece piece;
    piece.source = cut.entry->data;
    piece.unit = static_cast<std::size_t>(cut.rowBytes());
    if (cut.isWidened) {
        piece.bytes = static_cast<std::size_t>(cut.entry->elements()) * sizeof(float);
        piece.change = [cut](std::int64_t, std::span<const std::byte> rows, std::vector<std::byte>& out) {
            widenRows(cut, rows, out);
        };
    } else {
        piece.bytes = piece.source.size();
        piece.change = [cut](std::int64_t first, std::span<const std::byte> rows, std::vector<std::byte>& out) {
            zeroRows(cut, first, rows, out);
        };
    }
    return piece;
}

} // namespace secateur
