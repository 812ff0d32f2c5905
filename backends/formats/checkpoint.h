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

/// A tensor of a checkpoint. Its bytes lie within a mapped file.
struct TensorEntry {
    std::string name;
    const StorageType* type = nullptr;
    std::vector<std::int64_t> shape; ///< slowest dimension first; blocks of quantised types run along the last
    std::span<const std::byte> data;
    std::shared_ptr<const MappedFile> file; ///< keeps `data` mapped

    std::int64_t elements() const;
    /// File and tensor, for error messages: "model.safetensors: model.norm.weight".
    std::string subject() const { return file->path() + ": " + name; }
};

/// The model as the checkpoint's configuration describes it, and the names of its tensors.
struct CheckpointDescription {
    ModelSpec spec;
    TensorPatterns tensors;                     ///< patterns of tensor names in this format
    std::span<const std::string_view> prefixes; ///< candidates for the prefix of tensor names
    std::span<const std::string_view> unused;   ///< names of known tensors that are not weights
    std::string name;                           ///< name of the model, for display
    std::string tokenizer;                      ///< kind of tokenizer or name of its file; empty if there is none
    bool pairsRotaryRows = false;               ///< whether the two rows of a rotary pair are stored together
    bool addsOneToNorms = false;                ///< whether norm weights are stored as 1 + w
    std::vector<std::string> warnings = {};     ///< about the configuration
};

/// The named tensors of a checkpoint in mapped files, in any format. Immutable.
class Checkpoint {
public:
    virtual ~Checkpoint() = default;
    Checkpoint(const Checkpoint&) = delete;
    Checkpoint& operator=(const Checkpoint&) = delete;

    /// All tensors, sorted by name.
    std::span<const TensorEntry> tensors() const { return m_tensors; }
    /// The tensor with this name; nullptr if there is none.
    const TensorEntry* find(std::string_view name) const;
    /// Reads the configuration. @throws Error
    virtual CheckpointDescription describe() const = 0;

protected:
    /// @param tensors tensors of the checkpoint @throws Error if two tensors have the same name
    explicit Checkpoint(std::vector<TensorEntry> tensors);

private:
    std::vector<TensorEntry> m_tensors;
};

/// Reads a tensor. Floats and integers become a view that keeps the file mapped. Quantised types are dequantised to
/// float32 in memory. @throws Error if the type is not supported
at::Tensor readTensor(const TensorEntry& entry);

/// Number of elements of a shape. @throws Error if a dimension is negative or the product exceeds 63 bits
std::int64_t elementCount(std::span<const std::int64_t> shape, const std::string& subject);
/// A shape as text: "[49152, 576]".
std::string shapeText(std::span<const std::int64_t> shape);
/// Checks that no tensors overlap, and sorts them by place. @throws Error naming two tensors that share bytes
void refuseOverlaps(std::vector<TensorEntry>& entries);

/// Rejects files that are not weights but something known, such as a Git LFS pointer or a web page.
/// @throws Error that names the format and says what to do
void refuseForeign(const MappedFile& file);

/// Maps a file of weights. @throws Error if it cannot be opened, or refuseForeign() rejects it
std::shared_ptr<const MappedFile> openWeights(const std::string& path);

/// The fingerprint of a checkpoint: "sha256:" and 64 lower-case hexadecimal digits. The hash covers the tensors in the
/// order of their names. For each tensor: its name and a zero byte; the number of dimensions and each dimension (int64,
/// little-endian); a sample of its stored bytes. The sample is all bytes if there are at most 4096. Otherwise it is 16
/// pieces of 256 bytes, evenly spaced from the first byte to the last.
std::string fingerprintOf(const Checkpoint& checkpoint);

} // namespace secateur
