#pragma once

namespace at {
class Tensor;
}

#include "analysis/model/model_spec.h"
#include "backends/base/mapped_file.h"
#include "backends/config/architectures.h"
#include "backends/formats/quants.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// One tensor of a checkpoint: its bytes in a mapped file, within that file's size.
struct TensorEntry {
    std::string name;
    const StorageType* type = nullptr;
    std::vector<std::int64_t> shape; ///< slowest dimension first; blocks of a type run along the last one
    std::span<const std::byte> data;
    std::shared_ptr<const MappedFile> file; ///< keeps `data` mapped

    std::int64_t elements() const;
    /// "model.safetensors: model.norm.weight"
    std::string subject() const { return file->path() + ": " + name; }
};

/// The model that a checkpoint's configuration describes, and the names of its tensors.
struct CheckpointDescription {
    ModelSpec spec;
    TensorPatterns tensors;                     ///< names in this format
    std::span<const std::string_view> prefixes; ///< prefixes that the names may have
    std::span<const std::string_view> unused;   ///< known tensors that are not weights
    std::string name;                           ///< of the model, for display
    std::string tokenizer;                      ///< the tokenizer's kind or file, or empty
    bool pairsRotaryRows = false;               ///< whether the two rows of a rotary pair are stored together
    bool addsOneToNorms = false;                ///< whether norm weights are stored as 1 + w
    std::vector<std::string> warnings = {};     ///< about the configuration
};

/// Named tensors in mapped files, in any format. Immutable.
class Checkpoint {
public:
    virtual ~Checkpoint() = default;
    Checkpoint(const Checkpoint&) = delete;
    Checkpoint& operator=(const Checkpoint&) = delete;

    /// Sorted by name.
    std::span<const TensorEntry> tensors() const { return m_tensors; }
    /// The tensor with this name; nullptr if there is none.
    const TensorEntry* find(std::string_view name) const;
    /// Reads the configuration. @throws Error
    virtual CheckpointDescription describe() const = 0;

protected:
    /// @throws Error if two tensors have the same name
    explicit Checkpoint(std::vector<TensorEntry> tensors);

private:
    std::vector<TensorEntry> m_tensors;
};

/// Floats and integers become a view that keeps the file mapped; quantised types are dequantised to float32 in memory.
/// @throws Error if the type is not supported
at::Tensor readTensor(const TensorEntry& entry);

/// Number of elements of a shape. @throws Error for a negative dimension or a product beyond 63 bits
std::int64_t elementCount(std::span<const std::int64_t> shape, const std::string& subject);
/// "[49152, 576]"
std::string shapeText(std::span<const std::int64_t> shape);
/// Checks that tensors do not overlap; sorts them by place. @throws Error naming two tensors that share bytes
void refuseOverlaps(std::vector<TensorEntry>& entries);

/// Refuses files that are recognised as something else than weights, such as a Git LFS pointer or a web page.
/// @throws Error that names the format and states what to do
void refuseForeign(const MappedFile& file);

/// Maps a file of weights. @throws Error if it cannot be opened or refuseForeign() refuses it
std::shared_ptr<const MappedFile> openWeights(const std::string& path);

/// "sha256:" and 64 lower-case hexadecimal digits, over the tensors in order of their names. For each: the name and a
/// zero byte, the number of dimensions and each of them (int64, little-endian), and a sample of its stored bytes: all
/// if there are at most 4096; else 16 pieces of 256 bytes, evenly spread from the first byte to the last.
std::string fingerprintOf(const Checkpoint& checkpoint);

} // namespace secateur
