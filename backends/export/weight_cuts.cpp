#include "backends/export/weight_cuts.h"

#include "analysis/base/error.h"
#include "analysis/masks/pruning_mask.h"
#include "backends/export/target_tensor.h"
#include "backends/formats/encode.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace secateur {

namespace {

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
        const LayerCompensation& compensation = compensationOf(mask);
        if (dropsAttention(mask)) {
            cutWhole(index, WeightName::output, WeightName::outputBias);
        } else {
            if (layer.attention != AttentionKind::linear) // linear attention is a single matrix without heads
                cutInputs(index, WeightName::output, mask.heads, layer.headDim);
            multiply(index, WeightName::output, compensation.headScale, layer.headDim);
            addTo(index, WeightName::outputBias, compensation.attentionBias);
        }
        if (dropsMlp(mask)) {
            cutWhole(index, WeightName::down, WeightName::downBias);
        } else {
            cutOutputs(index, WeightName::up, mask.neurons);
            cutOutputs(index, WeightName::upBias, mask.neurons);
            multiply(index, WeightName::down, compensation.neuronScale, 1);
            addTo(index, WeightName::downBias, compensation.mlpBias);
        }
    }

    /// Replaces the changed weights that the mask does not drop.
    void replace(const ChangedWeights& changed, const PruningMask& mask) {
        for (const auto& [place, isMerged] : changed.places()) {
            const auto& [layer, which] = place;
            const bool isOfMlp = which == WeightName::gate || which == WeightName::up || which == WeightName::down;
            const bool isDropped =
                canHaveUpdate(which) && (isOfMlp ? dropsMlp(mask.layer(layer)) : dropsAttention(mask.layer(layer)));
            if (!isDropped)
                replace(m_slots.slot(layer, which), changed, isMerged);
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

    /// Multiplies inputs of a matrix. @param width number of inputs for each factor
    void multiply(int layer, WeightName which, const std::vector<float>& factors, int width) {
        const TensorSlot slot = m_slots.slot(layer, which);
        if (factors.empty() || !slot.entry)
            return;
        WeightCut& cut = changeOf(slot);
        for (const float factor : factors)
            cut.factors.insert(cut.factors.end(), static_cast<std::size_t>(width), factor);
        cut.isTransposed = slot.transposed;
        cut.isWidened = slot.entry->type->reading != StorageType::Reading::float32;
    }

    void replace(const TensorSlot& slot, const ChangedWeights& changed, bool isMerged) {
        const StorageType& type = *slot.entry->type;
        WeightCut& cut = changeOf(slot);
        cut.replacement = [&changed, entry = slot.entry] { return changed.storedNumbers(*entry); };
        cut.isTransposed = slot.transposed;
        cut.isMerged = isMerged;
        cut.isQuantised = isMerged && type.elements > 1 && canEncode(type) && cut.factors.empty();
        cut.isWidened = !cut.isQuantised && type.reading != StorageType::Reading::float32;
    }

    /// Adds to a bias that the model has.
    void addTo(int layer, WeightName which, const std::vector<float>& added) {
        const TensorSlot slot = m_slots.slot(layer, which);
        if (added.empty() || !slot.entry)
            return;
        WeightCut& cut = changeOf(slot);
        cut.added = added;
        cut.isWidened = slot.entry->type->reading != StorageType::Reading::float32;
    }

    /// The change of a tensor, which may have a cut already.
    WeightCut& changeOf(const TensorSlot& slot) {
        refuseUnreadable(slot);
        const auto found = std::ranges::find(m_cuts, slot.entry, &WeightCut::entry);
        return found != m_cuts.end() ? *found : m_cuts.emplace_back(WeightCut{slot.entry});
    }

    static void refuseUnreadable(const TensorSlot& slot) {
        const StorageType& type = *slot.entry->type;
        if (type.reading == StorageType::Reading::unsupported)
            throw Error(fmt::format("is stored as {}, which cannot be read", type.name), slot.entry->subject(),
                        "Types that can be read are " + readableTypes(type));
    }

    void add(const TensorSlot& slot, std::vector<NumberRange> ranges, bool alongRows) {
        if (!slot.entry || ranges.empty())
            return;
        refuseUnreadable(slot);
        const StorageType& type = *slot.entry->type;
        WeightCut cut{slot.entry};
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

/// Changes one row. @param index of the row in the tensor
void changeRow(const WeightCut& cut, std::size_t index, std::span<float> row) {
    if (!cut.rows.empty() && cut.rows[index])
        std::ranges::fill(row, 0.0F);
    for (const NumberRange& range : cut.columns)
        std::fill(row.begin() + range.begin, row.begin() + range.end, 0.0F);
    for (std::size_t i = 0; i < row.size() && !cut.factors.empty(); ++i)
        row[i] *= cut.factors[cut.isTransposed ? index : i];
    for (std::size_t i = 0; i < cut.added.size(); ++i)
        row[i] += cut.added[i];
}

/// Writes rows as float32.
void floatRows(const WeightCut& cut, std::int64_t firstRow, std::span<const std::byte> source,
               std::vector<std::byte>& target) {
    std::vector<float> numbers = storedNumbers(*cut.entry, source);
    const auto width = static_cast<std::size_t>(cut.entry->shape.back());
    for (std::size_t row = 0; row * width < numbers.size(); ++row)
        changeRow(cut, static_cast<std::size_t>(firstRow) + row, std::span(numbers).subspan(row * width, width));
    target.resize(numbers.size() * sizeof(float));
    std::memcpy(target.data(), numbers.data(), target.size());
}

/// The bytes of a replaced tensor.
std::vector<std::byte> replacedBytes(const WeightCut& cut) {
    std::vector<float> numbers = cut.replacement();
    const auto width = static_cast<std::size_t>(cut.entry->shape.back());
    for (std::size_t row = 0; row * width < numbers.size(); ++row)
        changeRow(cut, row, std::span(numbers).subspan(row * width, width));
    return encodedRows(cut.isQuantised ? *cut.entry->type : *safetensorsType("F32"), numbers, width);
}

/// The numbers that a compensation adds in a bias, or zeros.
std::vector<float> biasValues(const LayerCompensation& own, WeightName which, std::int64_t size) {
    const std::vector<float> none;
    const std::vector<float>& added = which == WeightName::outputBias ? own.attentionBias
                                      : which == WeightName::downBias ? own.mlpBias
                                                                      : none;
    return added.empty() ? std::vector<float>(static_cast<std::size_t>(size)) : added;
}

} // namespace

std::int64_t WeightCut::rowCount() const {
    return entry->shape.size() > 1 ? entry->elements() / std::max<std::int64_t>(1, entry->shape.back()) : 1;
}

std::int64_t WeightCut::rowBytes() const {
    return static_cast<std::int64_t>(entry->data.size()) / std::max<std::int64_t>(1, rowCount());
}

std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask,
                                  const ChangedWeights* changed) {
    Cutter cutter(slots, spec);
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (mask.tiedTo(layer).front() == layer)
            cutter.cutLayer(layer, mask.layer(layer));
    if (changed)
        cutter.replace(*changed, mask);
    std::vector<WeightCut> cuts = cutter.take();
    refuseShared(cuts, slots);
    return cuts;
}

std::vector<AddedBias> addedBiases(const TensorSlots& slots, const TensorFinder& names, const ModelSpec& spec,
                                   const ModelSpec& exported, const PruningMask& mask) {
    struct Row {
        WeightName bias;
        WeightName weight;
        bool LayerSpec::* has;
    };
    constexpr std::array rows{Row{WeightName::queryBias, WeightName::query, &LayerSpec::queryBias},
                              Row{WeightName::keyBias, WeightName::key, &LayerSpec::keyBias},
                              Row{WeightName::valueBias, WeightName::value, &LayerSpec::valueBias},
                              Row{WeightName::outputBias, WeightName::output, &LayerSpec::outputBias},
                              Row{WeightName::gateBias, WeightName::gate, &LayerSpec::gateBias},
                              Row{WeightName::upBias, WeightName::up, &LayerSpec::upBias},
                              Row{WeightName::downBias, WeightName::down, &LayerSpec::downBias}};
    std::vector<AddedBias> added;
    for (int index = 0; index < spec.layerCount(); ++index) {
        const auto at = static_cast<std::size_t>(index);
        for (const Row& row : rows) {
            const TensorSlot weight = slots.slot(index, row.weight);
            if (spec.layers[at].*row.has || !(exported.layers[at].*row.has) || !weight.entry)
                continue;
            added.push_back({names.name(index, row.bias, spec.layersPerGroup),
                             biasValues(compensationOf(mask.layer(index)), row.bias, weight.rows), weight.entry});
        }
    }
    return added;
}

FilePiece pieceOf(const WeightCut& cut) {
    FilePiece piece;
    if (cut.replacement) {
        piece.bytes =
            cut.isQuantised ? cut.entry->data.size() : static_cast<std::size_t>(cut.entry->elements()) * sizeof(float);
        piece.make = [cut] { return replacedBytes(cut); };
        return piece;
    }
    piece.source = cut.entry->data;
    piece.unit = static_cast<std::size_t>(cut.rowBytes());
    if (cut.isWidened || cut.isCompensated()) {
        piece.bytes = static_cast<std::size_t>(cut.entry->elements()) * sizeof(float);
        piece.change = [cut](std::int64_t first, std::span<const std::byte> rows, std::vector<std::byte>& out) {
            floatRows(cut, first, rows, out);
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
