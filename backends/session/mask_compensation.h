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

/// Largest compensation that is read, in bytes. It has one number for each head, neuron and residual coordinate.
inline constexpr std::int64_t mostCompensationBytes = std::int64_t{1} << 31;

/// The vectors of a mask's compensation by name: `layers.3.head_scale` [heads], `.neuron_scale` [neurons],
/// `.attention_bias` and `.mlp_bias` [hidden]. Vectors without effect are absent. Of layers that share their weights,
/// only the first is named. Sorted by name.
using CompensationVectors = std::map<std::string, std::vector<float>>;
CompensationVectors compensationVectors(const PruningMask& mask);
/// Adds a compensation to a mask, which has none. Factors of cut units and vectors of dropped sublayers have no effect
/// and are left out. @throws Error naming the vector if its name is unknown or its size is not that of the layer
void addCompensation(PruningMask& mask, const CompensationVectors& vectors, const ModelSpec& spec);

/// What a compensation changes: "bias", "scale" or "both". @param mask must have a compensation
std::string_view compensationMode(const PruningMask& mask);

/// The compensation of a mask as a safetensors file of float32 vectors, or an empty text if the mask has none. Equal
/// compensations give equal bytes.
std::string compensationBytes(const PruningMask& mask);
/// SHA-256 of compensationBytes() as 64 lower-case hexadecimal digits.
std::string compensationSum(const PruningMask& mask);

/// Reads the vectors of a compensation file. Types are F32, F16 and BF16.
/// @param path for error messages @throws Error if it is no safetensors file or a vector has another type
CompensationVectors readCompensationVectors(const std::string& path, std::span<const std::byte> bytes);

} // namespace secateur
