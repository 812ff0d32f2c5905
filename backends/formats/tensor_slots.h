#pragma once

namespace at {
class Tensor;
}

#include "analysis/model/model.h"
#include "backends/config/architectures.h"
#include "backends/formats/checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The tensor of a weight in a checkpoint.
struct FoundTensor {
    const TensorEntry* entry = nullptr;     ///< null = the checkpoint has no such tensor
    const TensorPattern* pattern = nullptr; ///< the pattern that matches the tensor's name
};

/// Finds the tensors of weights by the name patterns of an architecture and the prefix that the checkpoint uses.
class TensorFinder {
public:
    /// @param prefixes candidates for the prefix, tried on the name of the embedding; empty = names have no prefix
    TensorFinder(const Checkpoint& checkpoint, TensorPatterns patterns, std::span<const std::string_view> prefixes);

    /// @param layer -1 for a weight outside the layers @param layersPerGroup ModelSpec::layersPerGroup
    FoundTensor find(int layer, WeightName weight, int layersPerGroup = 1) const;
    bool holds(int layer, WeightName weight) const { return find(layer, weight).entry != nullptr; }
    std::string_view prefix() const { return m_prefix; } ///< the prefix that the checkpoint uses
    /// The name that the first pattern gives; empty if the architecture has no such weight.
    std::string name(int layer, WeightName weight, int layersPerGroup = 1) const;

private:
    const TensorEntry* entryNamed(const std::string& name) const;

    const Checkpoint& m_checkpoint;
    TensorPatterns m_patterns;
    std::string_view m_prefix;
};

/// The name that a pattern gives.
std::string filledIn(std::string_view pattern, std::string_view prefix, int layer, int layersPerGroup);

/// Whether a name matches a pattern. A '*' at the beginning or the end of the pattern stands for any text.
bool fits(std::string_view name, std::string_view pattern);

/// The place of a weight in a checkpoint: a whole tensor, or some rows of a fused [out, in] matrix.
struct TensorSlot {
    const TensorEntry* entry = nullptr; ///< null = the model has no such weight
    std::int64_t begin = 0;             ///< index in the tensor of the weight's first row
    std::int64_t rows = 0;
    bool transposed = false; ///< whether the tensor is stored as [in, out]

    std::int64_t elements() const; ///< number of elements of the weight
    /// The bytes of the weight in the file. For a transposed tensor, the bytes of the whole tensor.
    std::span<const std::byte> bytes() const;
    auto operator<=>(const TensorSlot&) const = default;
};

/// Reads the weight of a slot as [out, in]. @throws Error if the type is not supported
at::Tensor readSlot(const TensorSlot& slot);

/// Reads some rows of a weight, in the order of `indices`. @param slot must not be transposed
at::Tensor readRows(const TensorSlot& slot, std::span<const std::int64_t> indices);

/// The slots of every weight of a model.
class TensorSlots {
public:
    /// Finds all weights and checks their shapes, without reading them. @param path path of the checkpoint that the
    /// user opened
    /// @throws Error naming a tensor that is missing or has another shape
    TensorSlots(const Checkpoint& checkpoint, const CheckpointDescription& description, const std::string& path);

    /// The slot of a weight. Its entry is null if the model has no such weight. @param layer -1 = outside of the layers
    TensorSlot slot(int layer, WeightName weight) const;
    /// All slots with a tensor, each once, sorted.
    const std::vector<TensorSlot>& used() const { return m_used; }

private:
    std::vector<TensorSlot> m_slots; ///< slots by layer + 1 and weight
    std::vector<TensorSlot> m_used;
};

} // namespace secateur
