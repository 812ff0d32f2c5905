#pragma once

#include "analysis/export/compact_layout.h"
#include "backends/export/exported_weights.h"
#include "backends/export/target_tensor.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Where the numbers of an exported tensor come from.
enum class NumbersFrom {
    stored,   ///< from the source, so that they can stay in their stored type
    cut,      ///< from the source, multiplied, or cut across the blocks of a quantised type
    replaced, ///< from the weight of a compensation
    merged,   ///< from a weight that an adapter changes
};

/// The conventions of the format into which tensors are written.
struct TensorConventions {
    /// The pattern of a weight's name; null if the format has no such weight.
    std::function<const TensorPattern*(WeightName)> pattern;
    std::string_view prefix;      ///< for "{prefix}"
    bool pairsRotaryRows = false; ///< CheckpointDescription::pairsRotaryRows
    bool addsOneToNorms = false;  ///< CheckpointDescription::addsOneToNorms
    /// The type in which a tensor is written.
    /// @param source the tensor that is read; null if the source has none
    /// @param width length of a row
    std::function<const StorageType&(const std::vector<std::int64_t>& shape, const TensorEntry* source,
                                     NumbersFrom from, std::int64_t width)>
        type;
};

/// The tensors of a model under a mask in a layout. Their numbers are read when they are written.
/// @param slots of the source @param changed weights that differ from those in the slots; both must outlive the tensors
/// @param mask for the compensation
/// @throws Error naming a tensor of a type that cannot be read
std::vector<TargetTensor> compactTensors(const CheckpointDescription& source, const TensorSlots& slots,
                                         const ChangedWeights& changed, const PruningMask& mask,
                                         const ExportLayout& layout, const TensorConventions& target);

} // namespace secateur
