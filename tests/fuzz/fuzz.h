#pragma once

#include "analysis/base/error.h"
#include "backends/formats/checkpoint.h"
#include "backends/base/mapped_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace secateur::fuzz {

/// Runs a reader on untrusted bytes. The reader may throw an Error with a message. Any other failure ends the program.
template <typename Work>
int answers(Work work) {
    try {
        std::forward<Work>(work)();
    } catch (const Error& error) {
        if (error.message().empty())
            std::abort();
    }
    return 0;
}

inline std::vector<std::byte> bytesOf(const std::uint8_t* data, std::size_t size) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    return {bytes, bytes + size};
}

inline std::shared_ptr<const MappedFile> fileOf(const char* name, const std::uint8_t* data, std::size_t size) {
    return MappedFile::inMemory(name, bytesOf(data, size));
}

/// Reads the first and the last byte of each tensor and checks that no shape has a negative number of elements.
inline void touch(std::span<const TensorEntry> tensors) {
    volatile unsigned sum = 0;
    for (const TensorEntry& entry : tensors) {
        if (entry.elements() < 0)
            std::abort();
        if (!entry.data.empty())
            sum = sum + std::to_integer<unsigned>(entry.data.front()) + std::to_integer<unsigned>(entry.data.back());
    }
}

/// A checkpoint made of a list of tensors, without a model description.
class Bare : public Checkpoint {
public:
    explicit Bare(std::vector<TensorEntry> tensors)
        : Checkpoint(std::move(tensors)) {}
    CheckpointDescription describe() const override { return {}; }
};

} // namespace secateur::fuzz
