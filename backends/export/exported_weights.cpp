#include "backends/export/exported_weights.h"

#include "analysis/base/error.h"
#include "analysis/masks/projection_weight.h"
#include "backends/engine/adapted_model.h"
#include "backends/export/target_tensor.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace secateur {

namespace {

at::Tensor selectedRows(const at::Tensor& matrix, const std::vector<std::int64_t>& rows, std::int64_t dimension) {
    std::vector<std::int64_t> valid = rows;
    for (std::int64_t& row : valid)
        row = std::max<std::int64_t>(row, 0);
    if (matrix.size(dimension) == 0) {
        std::vector<std::int64_t> shape = matrix.sizes().vec();
        shape[static_cast<std::size_t>(dimension)] = std::ssize(rows);
        return at::zeros(shape, at::kFloat);
    }
    at::Tensor selected = matrix.index_select(dimension, at::tensor(valid, at::kLong));
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] == zeroIndex)
            selected.select(dimension, static_cast<std::int64_t>(i)).zero_();
    return selected;
}

/// Reorders rotary rows from two halves to adjacent pairs.
at::Tensor pairedRotation(const at::Tensor& rows, int heads, int headDim) {
    return rows.reshape({heads, 2, headDim / 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

bool adapts(const Adapter* adapter, const ModelSpec& spec, int layer, WeightName weight) {
    const WeightPlace place{layer < 0 ? layer : spec.firstSharing(layer), weight};
    return adapter && (adapter->updates.contains(place) || adapter->weights.contains(place));
}

} // namespace

ChangedWeights::ChangedWeights(const Model& model, const PruningMask& mask, const TensorSlots& slots,
                               const CheckpointDescription& source)
    : m_model(model)
    , m_mask(mask)
    , m_slots(slots)
    , m_source(source) {
    const auto adapter = adapterOf(model);
    for (int layer = -1; layer < source.spec.layerCount(); ++layer)
        for (std::size_t index = 0; index < weightNameCount; ++index) {
            const auto weight = static_cast<WeightName>(index);
            const bool isMerged = adapts(adapter.get(), source.spec, layer, weight);
            const bool isReplaced = layer >= 0 && replacementOf(compensationOf(mask.layer(layer)), weight);
            if ((isMerged || isReplaced) && slots.slot(layer, weight).entry)
                m_places.emplace(WeightPlace{layer, weight}, isMerged);
        }
    for (const WeightName weight : {WeightName::classifier, WeightName::classifierBias})
        if (adapts(adapter.get(), source.spec, -1, weight)) // the files may have none
            m_places.emplace(WeightPlace{-1, weight}, true);
    addFusedParts();
}

void ChangedWeights::addFusedParts() {
    std::set<const TensorEntry*> tensors;
    for (const auto& [place, _] : m_places)
        tensors.insert(m_slots.slot(place.first, place.second).entry);
    tensors.erase(nullptr);
    for (int layer = 0; layer < m_source.spec.layerCount(); ++layer)
        for (std::size_t index = 0; index < weightNameCount; ++index) {
            const auto weight = static_cast<WeightName>(index);
            if (const TensorEntry* entry = m_slots.slot(layer, weight).entry; entry && tensors.contains(entry))
                m_places.emplace(WeightPlace{layer, weight}, true);
        }
}

bool ChangedWeights::isMerged(int layer, WeightName weight) const {
    const auto found = m_places.find({layer, weight});
    return found != m_places.end() && found->second;
}

at::Tensor ChangedWeights::numbers(int layer, WeightName weight) const {
    static const LayerCompensation none;
    const LayerCompensation& compensation = layer < 0 ? none : compensationOf(m_mask.layer(layer));
    return projectionWeight(m_model, layer, weight, compensation).to(at::kCPU, at::kFloat).contiguous();
}

at::Tensor ChangedWeights::asStored(const WeightPlace& place) const {
    const auto& [layer, weight] = place;
    const at::Tensor own = numbers(layer, weight);
    if (m_source.addsOneToNorms && isNorm(weight))
        return own + 1;
    if (!m_source.pairsRotaryRows || layer < 0)
        return own;
    const LayerSpec& spec = m_source.spec.layers[static_cast<std::size_t>(layer)];
    if (weight == WeightName::query)
        return pairedRotation(own, spec.heads, spec.headDim);
    return weight == WeightName::key ? pairedRotation(own, spec.kvHeads, spec.headDim) : own;
}

std::vector<float> ChangedWeights::storedNumbers(const TensorEntry& entry) const {
    std::map<std::int64_t, at::Tensor> parts; // by their first row
    bool isTransposed = false;
    for (const auto& [place, _] : m_places) {
        const TensorSlot slot = m_slots.slot(place.first, place.second);
        if (slot.entry != &entry || parts.contains(slot.begin)) // layers may share it
            continue;
        parts.emplace(slot.begin, asStored(place));
        isTransposed = slot.transposed;
    }
    std::vector<at::Tensor> rows;
    for (const auto& [_, part] : parts)
        rows.push_back(part);
    const at::Tensor whole = at::cat(rows);
    const at::Tensor stored = (isTransposed ? whole.t() : whole).contiguous();
    return {stored.data_ptr<float>(), stored.data_ptr<float>() + stored.numel()};
}

bool bringsClassifier(const Model& model) {
    const Model& base = baseOf(model);
    return model.spec().classes != base.spec().classes ||
           (model.has(-1, WeightName::classifier) && !base.has(-1, WeightName::classifier));
}

at::Tensor selectedMatrix(const at::Tensor& weight, const std::vector<std::int64_t>& rows,
                          const std::optional<std::vector<std::int64_t>>& columns,
                          const std::vector<float>& columnFactors) {
    at::Tensor matrix = weight.to(at::kFloat);
    if (columns)
        matrix = selectedRows(matrix, *columns, 1);
    matrix = selectedRows(matrix, rows, 0);
    if (!columnFactors.empty())
        matrix = matrix * at::tensor(columnFactors);
    return matrix;
}

FoldedAttention::FoldedAttention(WeightReading value, WeightReading output, const CutLayer& layer)
    : m_value(std::move(value))
    , m_output(std::move(output)) {
    const int size = layer.spec.headDim;
    const std::vector<float>& scale = compensationOf(layer.mask).headScale;
    const double alpha = layer.spec.alpha * layer.mask.alpha;
    for (int head = 0; head < layer.spec.heads; ++head) {
        const auto at = static_cast<std::size_t>(head);
        if (!layer.mask.heads[at])
            continue;
        for (int row = 0; row < size; ++row) {
            m_valueRows.push_back(std::int64_t{layer.spec.kvGroup(head)} * size + row);
            m_columns.push_back(std::int64_t{head} * size + row);
            m_factors.push_back(static_cast<float>(alpha * (scale.empty() ? 1 : scale[at])));
        }
    }
}

at::Tensor FoldedAttention::matrix() const {
    const at::Tensor value = m_value().to(at::kDouble).index_select(0, at::tensor(m_valueRows, at::kLong));
    const at::Tensor output = m_output().to(at::kDouble).index_select(1, at::tensor(m_columns, at::kLong));
    return at::matmul(output * at::tensor(m_factors).to(at::kDouble), value).to(at::kFloat).contiguous();
}

namespace {

/// A row or a column of an exported matrix: the index in the source's matrix, or zeroUnit.
using Sources = std::vector<std::int64_t>;

Sources indicesOfUnits(const std::vector<int>& units, std::int64_t size) {
    Sources indices;
    for (const int unit : units)
        for (std::int64_t i = 0; i < size; ++i)
            indices.push_back(unit == zeroUnit ? zeroUnit : unit * size + i);
    return indices;
}

/// The rows of a matrix [count, width], row after row. Absent rows are 0.
std::vector<float> selectedNumbers(const std::vector<float>& matrix, std::int64_t width, const Sources& rows) {
    std::vector<float> selected;
    selected.reserve(rows.size() * static_cast<std::size_t>(width));
    for (const std::int64_t row : rows) {
        if (row == zeroUnit)
            selected.resize(selected.size() + static_cast<std::size_t>(width), 0);
        else
            selected.insert(selected.end(), matrix.begin() + row * width, matrix.begin() + (row + 1) * width);
    }
    return selected;
}

std::vector<float> transposedNumbers(const std::vector<float>& matrix, std::int64_t width) {
    const std::int64_t height = std::ssize(matrix) / std::max<std::int64_t>(width, 1);
    std::vector<float> turned(matrix.size());
    for (std::int64_t row = 0; row < height; ++row)
        for (std::int64_t column = 0; column < width; ++column)
            turned[static_cast<std::size_t>(column * height + row)] =
                matrix[static_cast<std::size_t>(row * width + column)];
    return turned;
}

/// The update of a projection of which some rows or columns remain.
class CutUpdate {
public:
    CutUpdate(LowRankUpdate update, const CutLayer& layer, const ExportedLayer& units)
        : m_update(std::move(update))
        , m_layer(layer)
        , m_units(units) {}

    LowRankUpdate of(WeightName weight) && {
        using enum WeightName;
        const std::int64_t size = m_layer.spec.headDim;
        const LayerCompensation& compensation = compensationOf(m_layer.mask);
        if (weight == query)
            keepRows(indicesOfUnits(m_units.heads, size));
        else if (weight == key || weight == value)
            keepRows(indicesOfUnits(m_units.kvHeads, size));
        else if (weight == output && m_layer.spec.attention == AttentionKind::linear)
            return std::move(m_update);
        else if (weight == output)
            keepColumns(indicesOfUnits(m_units.heads, size), compensation.headScale, size);
        else if (weight == down)
            keepColumns(indicesOfUnits(m_units.neurons, 1), compensation.neuronScale, 1);
        else // gate, up
            keepRows(indicesOfUnits(m_units.neurons, 1));
        return std::move(m_update);
    }

private:
    void keepRows(const Sources& rows) { m_update.b = selectedNumbers(m_update.b, m_update.rank, rows); }

    /// @param factors of the units of `size` columns; empty = 1
    void keepColumns(const Sources& columns, const std::vector<float>& factors, std::int64_t size) {
        const std::int64_t width = std::ssize(m_update.a) / m_update.rank;
        std::vector<float> kept = selectedNumbers(transposedNumbers(m_update.a, width), m_update.rank, columns);
        for (std::size_t i = 0; i < kept.size() && !factors.empty(); ++i)
            if (const std::int64_t column = columns[i / static_cast<std::size_t>(m_update.rank)]; column != zeroUnit)
                kept[i] *= factors[static_cast<std::size_t>(column / size)];
        m_update.a = transposedNumbers(kept, m_update.rank);
    }

    LowRankUpdate m_update;
    const CutLayer& m_layer;
    const ExportedLayer& m_units;
};

/// Adds what an exported layer has of the changes of its source.
void addLayer(Adapter& made, const Adapter& adapter, const ModelSpec& source, const PruningMask& mask,
              const ExportLayout& layout, int index) {
    const ExportedLayer& units = layout.layers[static_cast<std::size_t>(index)];
    const CutLayer layer = cutLayer(source, mask, units.source);
    const int from = source.firstSharing(units.source);
    const auto isThere = [&](const WeightPlace& place) {
        return place.first == from && needOf(layout.spec, index, place.second) != Need::absent;
    };
    const bool isMatrix = layout.spec.layers[static_cast<std::size_t>(index)].attention == AttentionKind::linear;
    for (const auto& [place, update] : adapter.updates) {
        if (!isThere(place))
            continue;
        if (isMatrix && place.second == WeightName::output && layer.spec.attention != AttentionKind::linear)
            throw Error("becomes a single matrix, for which the adapter has no update",
                        fmt::format("The attention of layer {}", units.source), "Merge the adapter");
        made.updates[{index, place.second}] = CutUpdate(update, layer, units).of(place.second);
    }
    for (const auto& [place, numbers] : adapter.weights)
        if (isThere(place))
            made.weights[{index, place.second}] = numbers;
}

std::vector<int> zeroedUnits(const std::vector<bool>& kept, bool isThere) {
    std::vector<int> units;
    for (std::size_t unit = 0; unit < kept.size(); ++unit)
        units.push_back(kept[unit] && isThere ? static_cast<int>(unit) : zeroUnit);
    return units;
}

/// The layout of an export with the shapes of the source, whose cut units are 0.
ExportLayout zeroedLayout(const ModelSpec& source, const PruningMask& mask) {
    ExportLayout layout{"masked", source};
    for (int index = 0; index < source.layerCount(); ++index) {
        const CutLayer layer = cutLayer(source, mask, index);
        ExportedLayer units{.source = index,
                            .heads = zeroedUnits(layer.mask.heads, layer.hasAttention()),
                            .kvHeads = {},
                            .neurons = zeroedUnits(layer.mask.neurons, layer.hasMlp())};
        for (int group = 0; group < layer.spec.kvHeads; ++group)
            units.kvHeads.push_back(group);
        layout.layers.push_back(std::move(units));
    }
    return layout;
}

} // namespace

Adapter exportedAdapter(const Adapter& adapter, const ModelSpec& source, const PruningMask& mask,
                        const ExportLayout& layout) {
    if (layout.layers.empty())
        return exportedAdapter(adapter, source, mask, zeroedLayout(source, mask));
    Adapter made{adapter.settings, adapter.modelName, {}, {}, {}};
    for (const auto& [place, numbers] : adapter.weights)
        if (place.first < 0)
            made.weights[place] = numbers;
    for (int index = 0; index < layout.spec.layerCount(); ++index)
        if (layout.spec.firstSharing(index) == index)
            addLayer(made, adapter, source, mask, layout, index);
    return made;
}

} // namespace secateur
