#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// A type of stored numbers. A block of `elements` numbers takes `bytes` bytes.
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
        uint8,       ///< like the types above, read as a view of the file
        boolean,     ///< a byte, true unless it is 0
        dequantised, ///< converted to float32
        unsupported, ///< can be listed, but not read
    };
    /// Unpacks `blocks` blocks to `blocks * elements` numbers, on the calling thread.
    using Unpack = void (*)(const std::byte* source, std::int64_t blocks, float* target);

    std::string_view name; ///< name of the type in its format
    int ggufNumber;        ///< number of the type in GGUF; -1 = not a GGUF type
    int elements;
    int bytes;
    Reading reading;
    Unpack unpack = nullptr; ///< for Reading::dequantised only
};

/// The GGUF type with this number; nullptr if there is none.
const StorageType* ggufType(std::uint32_t number);
/// The safetensors type with this name; nullptr if there is none.
const StorageType* safetensorsType(std::string_view name);

/// The supported types of a format as text: "F32, F16, Q8_0". @param beside any type of the format
std::string readableTypes(const StorageType& beside);

/// Dequantises a tensor on all threads. The results are equal to those of gguf-py, bit by bit.
/// @param target must have source.size() / type.bytes * type.elements numbers
void dequantise(const StorageType& type, std::span<const std::byte> source, std::span<float> target);

} // namespace secateur
