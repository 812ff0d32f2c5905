#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// How a file stores numbers: in blocks of `elements` numbers that take `bytes` bytes.
struct StorageType {
    enum class Reading {
        float64,
        float32,
        float16,
        bfloat16,
        int64,
        int32,
        int16,
        int8,
        uint8,       ///< all of these are viewed in the file
        boolean,     ///< a byte, true unless it is 0
        dequantised, ///< unpacked to float32
        unsupported, ///< can be listed, not read
    };
    /// Unpacks `blocks` blocks to `blocks * elements` numbers, on the calling thread.
    using Unpack = void (*)(const std::byte* source, std::int64_t blocks, float* target);

    std::string_view name; ///< as the format calls it
    int ggufNumber;        ///< -1 = not a GGUF type
    int elements;
    int bytes;
    Reading reading;
    Unpack unpack = nullptr; ///< of a dequantised type
};

/// The types of GGUF, by their number in the file. nullptr when there is none.
const StorageType* ggufType(std::uint32_t number);
/// The types of safetensors, by their name in the header. nullptr when there is none.
const StorageType* safetensorsType(std::string_view name);

/// "F32, F16, Q8_0": the types of the same format that can be read, for a refusal.
std::string readableTypes(const StorageType& beside);

/// Unpacks a whole tensor of a dequantised type on all threads; bit for bit what gguf-py computes.
/// @param target has source.size() / type.bytes * type.elements numbers
void dequantise(const StorageType& type, std::span<const std::byte> source, std::span<float> target);

} // namespace secateur
