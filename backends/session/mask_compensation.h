#pragma once

#include "analysis/masks/pruning_mask.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Largest compensation that is read, in bytes.
inline constexpr std::int64_t mostCompensationBytes = std::int64_t{1} << 36;

/// A vector or a weight of a compensation.
struct CompensationTensor {
    SharedWeight values;   ///< not null
    std::int64_t rows = 0; ///< 0 = a vector; else the rows of a matrix

    std::int64_t columns() const { return rows > 0 ? std::ssize(*values) / rows : std::ssize(*values); }
};

/// The tensors of a mask's compensation by name: `layers.3.head_scale` [heads], `.neuron_scale` [neurons],
/// `.attention_bias` and `.mlp_bias` [hidden], `.o_weight` [hidden, heads * headDim] and `.down_weight` [hidden,
/// neurons]. Tensors without effect are absent. Of layers that share their weights, only the first is named. Sorted by
/// name.
using CompensationTensors = std::map<std::string, CompensationTensor>;
CompensationTensors compensationTensors(const PruningMask& mask);
/// Adds a compensation to a mask, which has none. Factors of cut units, columns of cut units and tensors of dropped
/// sublayers have no effect and are left out. @throws Error naming the tensor if its name is unknown or its shape is
/// not that of the layer
void addCompensation(PruningMask& mask, const CompensationTensors& tensors, const ModelSpec& spec);

/// What a compensation changes: "bias", "scale", "both", or "weights" if any weight is replaced. @param mask must have
/// a compensation
std::string_view compensationMode(const PruningMask& mask);

/// The compensation of a mask as a safetensors file of float32 tensors, or an empty text if the mask has none. Equal
/// compensations give equal bytes.
std::string compensationBytes(const PruningMask& mask);
/// SHA-256 of compensationBytes() as 64 lower-case hexadecimal digits.
std::string compensationSum(const PruningMask& mask);

/// Reads the tensors of a compensation file. Types are F32, F16 and BF16.
/// @param path for error messages @throws Error if it is no safetensors file or a tensor has another type or rank
CompensationTensors readCompensationTensors(const std::string& path, std::span<const std::byte> bytes);

} // namespace secateur
