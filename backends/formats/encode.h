#pragma once

#include "backends/formats/quants.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The GGUF types in which numbers can be written: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1.
std::vector<const StorageType*> encodableTypes();
/// The names of encodableTypes() as text: "F32, F16, ...".
std::string encodableTypeNames();

/// Whether encodeRow() can write this type: one of encodableTypes(), or F32, F16 or BF16 of safetensors.
bool canEncode(const StorageType& type);

/// Encodes a row of numbers on the calling thread. The bytes are equal to those of gguf-py and of ggml's reference
/// functions (quantize_row_..._ref). F32 and BF16 keep infinities and NaN, which becomes quiet in BF16.
/// A minimum of 0 has the sign of the first zero, as in ggml.
/// @param numbers a multiple of type.elements
/// @param target numbers.size() / type.elements * type.bytes bytes
/// @throws Error naming the position in the row if a number is infinite, NaN or too large for F16 or a quantised type;
/// also if the type cannot be encoded or the sizes do not fit
void encodeRow(const StorageType& type, std::span<const float> numbers, std::span<std::byte> target);

} // namespace secateur
