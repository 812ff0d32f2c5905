#include "backends/export/exported_weights.h"

#include "analysis/masks/projection_weight.h"
#include "backends/engine/adapted_model.h"
#include "backends/export/target_tensor.h"

#include <ATen/ATen.h>

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
    addFusedParts();
}

void ChangedWeights::addFusedParts() {
    std::set<const TensorEntry*> tensors;
    for (const auto& [place, _] : m_places)
        tensors.insert(m_slots.slot(place.first, place.second).entry);
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

} // namespace secateur
