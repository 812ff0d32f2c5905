#pragma once

namespace at {
class Tensor;
}

#include "analysis/export/compact_layout.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/training/adapter.h"
#include "backends/formats/tensor_slots.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace secateur {

/// The weights of a model under a mask that are not those of its files: the projections that a compensation replaces,
/// and the weights that an adapter changes, or a classifier that only the adapter has. If one part of a fused tensor is
/// changed, all of them count as changed.
class ChangedWeights {
public:
    /// @param model, slots, source must outlive it
    ChangedWeights(const Model& model, const PruningMask& mask, const TensorSlots& slots,
                   const CheckpointDescription& source);

    bool contains(int layer, WeightName weight) const { return m_places.contains({layer, weight}); }
    /// Whether an adapter changes a weight, and not only a compensation.
    bool isMerged(int layer, WeightName weight) const;
    /// All places, with what isMerged() returns.
    const std::map<WeightPlace, bool>& places() const { return m_places; }
    /// The numbers of a weight, float32, contiguous, in the layout of Model::tensor().
    at::Tensor numbers(int layer, WeightName weight) const;
    /// The numbers of a whole tensor of the files, in its order.
    std::vector<float> storedNumbers(const TensorEntry& entry) const;

private:
    void addFusedParts();
    at::Tensor asStored(const WeightPlace& place) const;

    const Model& m_model;
    PruningMask m_mask;
    const TensorSlots& m_slots;
    const CheckpointDescription& m_source;
    std::map<WeightPlace, bool> m_places;
};

/// Whether the adapter of a model has a classifier that the files have not, or one with another number of classes.
bool bringsClassifier(const Model& model);

/// Reads a weight [out, in]. An export calls it when it writes.
using WeightReading = std::function<at::Tensor()>;

/// Rows and columns of a weight, [out, in], float32, in order; zeroIndex = zeros.
/// @param columns empty = all @param columnFactors [columns]; empty = 1
at::Tensor selectedMatrix(const at::Tensor& weight, const std::vector<std::int64_t>& rows,
                          const std::optional<std::vector<std::int64_t>>& columns,
                          const std::vector<float>& columnFactors);

/// A bypass of queries and keys as a single matrix: alpha * Wo R Wv, where R repeats the KV heads of each group
/// (HARP). With a compensation's factors of heads. Cut heads are left out.
class FoldedAttention {
public:
    FoldedAttention(WeightReading value, WeightReading output, const CutLayer& layer);

    /// [hidden, hidden], float32. The sums are in double precision.
    at::Tensor matrix() const;

private:
    WeightReading m_value;
    WeightReading m_output;
    std::vector<std::int64_t> m_valueRows; ///< for each column of m_columns, the row of the value projection
    std::vector<std::int64_t> m_columns;   ///< columns of the output projection
    std::vector<float> m_factors;          ///< [m_columns]
};

/// The adapter of an exported checkpoint: an adapter of the source, in the shapes and layers of the export. Updates of
/// projections that the export does not have are left out. Rows and columns of cut units are left out; those of units
/// that the export adds (zeroUnit) are 0. The factors of the mask's compensation go into A.
/// The export under its adapter gives the output of the source under the mask and the adapter.
/// @param layout of the export. One without layers has the shapes of the source: numbers of cut units are then 0.
/// @throws Error if a layer's attention becomes a single matrix and has an update (AttentionKind::linear)
Adapter exportedAdapter(const Adapter& adapter, const ModelSpec& source, const PruningMask& mask,
                        const ExportLayout& layout);

} // namespace secateur
