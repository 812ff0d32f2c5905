#include "backends/formats/tensor_slots.h"

#include "analysis/base/error.h"
#include "analysis/model/model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

void replace(std::string& text, std::string_view what, std::string_view value) {
    if (const auto at = text.find(what); at != std::string::npos)
        text.replace(at, what.size(), value);
}

/// The number of rows of a fused tensor in front of a part, and in total.
struct FusedRows {
    std::int64_t before = 0;
    std::int64_t all = 0;
};

FusedRows fusedRows(const LayerSpec& layer, FusedPart part) {
    const std::int64_t queries = std::int64_t{layer.heads} * layer.headDim;
    const std::int64_t keys = std::int64_t{layer.kvHeads} * layer.headDim;
    const std::int64_t before = part == FusedPart::query ? 0 : part == FusedPart::key ? queries : queries + keys;
    return {before, queries + 2 * keys};
}

/// Consecutive rows of a tensor as a tensor of their own.
TensorEntry rowsOf(const TensorEntry& whole, std::int64_t begin, std::int64_t count) {
    const std::size_t bytes = whole.shape[0] > 0 ? whole.data.size() / static_cast<std::size_t>(whole.shape[0]) : 0;
    TensorEntry part = whole;
    part.shape[0] = count;
    part.data = whole.data.subspan(static_cast<std::size_t>(begin) * bytes, static_cast<std::size_t>(count) * bytes);
    return part;
}

TensorSlot slotOf(const TensorFinder& finder, const ModelSpec& spec, int layer, WeightName weight,
                  const std::string& path) {
    const Need need = needOf(spec, layer, weight);
    if (need == Need::absent)
        return {};
    const int stored = layer < 0 ? layer : spec.storedLayer(layer);
    const FoundTensor found = finder.find(stored, weight, spec.layersPerGroup);
    if (!found.entry) {
        if (need == Need::optional)
            return {};
        throw Error(fmt::format("has no tensor {}", finder.name(stored, weight, spec.layersPerGroup)), path,
                    "The checkpoint is incomplete, or its configuration belongs to another model");
    }
    std::vector<std::int64_t> expected = expectedShape(spec, layer, weight);
    TensorSlot slot{found.entry, 0, expected.front(), found.pattern->transposed};
    if (found.pattern->part != FusedPart::whole) {
        const FusedRows rows = fusedRows(spec.layers[static_cast<std::size_t>(layer)], found.pattern->part);
        slot.begin = rows.before;
        expected.front() = rows.all;
    }
    if (slot.transposed)
        std::ranges::reverse(expected);
    if (found.entry->shape != expected)
        throw Error(fmt::format("has shape {}, but the configuration requires {}", shapeText(found.entry->shape),
                                shapeText(expected)),
                    found.entry->subject());
    return slot;
}

} // namespace

TensorFinder::TensorFinder(const Checkpoint& checkpoint, TensorPatterns patterns,
                           std::span<const std::string_view> prefixes)
    : m_checkpoint(checkpoint)
    , m_patterns(patterns) {
    for (const std::string_view prefix : prefixes) {
        m_prefix = prefix;
        if (holds(-1, WeightName::embedding))
            return;
    }
    m_prefix = prefixes.empty() ? std::string_view() : prefixes.front();
}

FoundTensor TensorFinder::find(int layer, WeightName weight, int layersPerGroup) const {
    for (const auto& patterns : m_patterns) {
        for (const TensorPattern& pattern : patterns) {
            if (pattern.weight != weight)
                continue;
            if (const auto* entry = entryNamed(filledIn(pattern.pattern, m_prefix, layer, layersPerGroup)))
                return {entry, &pattern};
        }
    }
    return {};
}

const TensorEntry* TensorFinder::entryNamed(const std::string& name) const {
    if (const TensorEntry* entry = m_checkpoint.find(name))
        return entry;
    // Names in checkpoints that were converted from TensorFlow, such as bert-base-uncased.
    static constexpr std::array legacy{std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                       std::pair{"LayerNorm.bias", "LayerNorm.beta"}};
    for (const auto& [today, once] : legacy) {
        if (name.ends_with(today)) {
            std::string old = name;
            replace(old, today, once);
            return m_checkpoint.find(old);
        }
    }
    return nullptr;
}

std::string TensorFinder::name(int layer, WeightName weight, int layersPerGroup) const {
    for (const auto& patterns : m_patterns) {
        const auto found = std::ranges::find(patterns, weight, &TensorPattern::weight);
        if (found != patterns.end())
            return filledIn(found->pattern, m_prefix, layer, layersPerGroup);
    }
    return {};
}

std::string filledIn(std::string_view pattern, std::string_view prefix, int layer, int layersPerGroup) {
    std::string name(pattern);
    replace(name, "{prefix}", prefix);
    replace(name, "{layer}", std::to_string(layer));
    replace(name, "{group}", std::to_string(layer / layersPerGroup));
    replace(name, "{inner}", std::to_string(layer % layersPerGroup));
    return name;
}

bool fits(std::string_view name, std::string_view pattern) {
    if (pattern.starts_with('*'))
        return name.ends_with(pattern.substr(1));
    if (pattern.ends_with('*'))
        return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
}

std::int64_t TensorSlot::elements() const {
    const std::int64_t all = transposed ? entry->shape.back() : entry->shape.front();
    return all > 0 ? entry->elements() / all * rows : 0;
}

std::span<const std::byte> TensorSlot::bytes() const {
    return transposed ? entry->data : rowsOf(*entry, begin, rows).data;
}

at::Tensor readSlot(const TensorSlot& slot) {
    if (slot.transposed)
        return readTensor(*slot.entry).narrow(1, slot.begin, slot.rows).t();
    return slot.rows == slot.entry->shape.front() ? readTensor(*slot.entry)
                                                  : readTensor(rowsOf(*slot.entry, slot.begin, slot.rows));
}

at::Tensor readRows(const TensorSlot& slot, std::span<const std::int64_t> indices) {
    std::vector<at::Tensor> rows;
    for (const std::int64_t index : indices)
        rows.push_back(readTensor(rowsOf(*slot.entry, slot.begin + index, 1)));
    return rows.empty() ? at::empty({0, slot.entry->shape.back()}, at::kFloat) : at::cat(rows);
}

TensorSlots::TensorSlots(const Checkpoint& checkpoint, const CheckpointDescription& description,
                         const std::string& path) {
    const ModelSpec& spec = description.spec;
    const TensorFinder finder(checkpoint, description.tensors, description.prefixes);
    m_slots.reserve((spec.layers.size() + 1) * weightNameCount);
    for (int layer = -1; layer < spec.layerCount(); ++layer)
        for (std::size_t weight = 0; weight < weightNameCount; ++weight)
            m_slots.push_back(slotOf(finder, spec, layer, static_cast<WeightName>(weight), path));
    for (const TensorSlot& slot : m_slots)
        if (slot.entry)
            m_used.push_back(slot);
    std::ranges::sort(m_used);
    m_used.erase(std::unique(m_used.begin(), m_used.end()), m_used.end());
}

TensorSlot TensorSlots::slot(int layer, WeightName weight) const {
    const auto row = static_cast<std::size_t>(layer + 1);
    return m_slots.at(row * weightNameCount + static_cast<std::size_t>(weight));
}

} // namespace secateur
