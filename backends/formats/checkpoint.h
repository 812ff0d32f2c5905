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

/// One tensor of a checkpoint: its place in a mapped file, checked against that file's size.
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

/// What a checkpoint's configuration says of its model.
struct CheckpointDescription {
    ModelSpec spec;
    TensorPatterns tensors;                     ///< where this format keeps them
    std::span<const std::string_view> prefixes; ///< that their names may have
    std::span<const std::string_view> unused;   ///< known tensors that are not weights
    std::string name;                           ///< what to call it
    std::string tokenizer;                      ///< its kind, or empty
    bool pairsRotaryRows = false;               ///< query and key rows lie as consecutive pairs
    bool addsOneToNorms = false;                ///< norms are kept as 1 + w
};

/// A directory of named tensors in mapped files, whatever the format. Immutable.
class Checkpoint {
public:
    virtual ~Checkpoint() = default;
    Checkpoint(const Checkpoint&) = delete;
    Checkpoint& operator=(const Checkpoint&) = delete;

    /// By name.
    std::span<const TensorEntry> tensors() const { return m_tensors; }
    /// nullptr when there is none of that name
    const TensorEntry* find(std::string_view name) const;
    /// Reads the configuration. @throws Error
    virtual CheckpointDescription describe() const = 0;

protected:
    /// @throws Error when two have the same name
    explicit Checkpoint(std::vector<TensorEntry> tensors);

private:
    std::vector<TensorEntry> m_tensors;
};

/// A view of the file that keeps it mapped, for floats and integers as they are stored; float32 in memory for quantised
/// types.
/// @throws Error when the type cannot be read
at::Tensor readTensor(const TensorEntry& entry);

/// Number of elements of a shape. @throws Error on a negative dimension or when the product leaves 63 bits
std::int64_t elementCount(std::span<const std::int64_t> shape, const std::string& subject);
/// "[49152, 576]"
std::string shapeText(std::span<const std::int64_t> shape);
/// @throws Error naming two tensors that share bytes
void refuseOverlaps(std::vector<TensorEntry>& entries);

/// Refuses a file that is something else than weights in a format that is read, where its bytes say surely what.
/// @throws Error that says what it is and what to do
void refuseForeign(const MappedFile& file);

/// Maps a file that should hold weights. @throws Error when it cannot be opened or is known to be something else
std::shared_ptr<const MappedFile> openWeights(const std::string& path);

/// "sha256:" and 64 lower-case hexadecimal digits, over each tensor in order of its name: the name and a zero byte, the
/// number of dimensions and each of them (int64, little-endian), and a sample of its bytes as the file stores them: all
/// of up to 4096, else 16 pieces of 256 whose starts are spread evenly from the first byte to the last possible one.
std::string fingerprintOf(const Checkpoint& checkpoint);

} // namespace secateur
