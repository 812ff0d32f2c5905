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

/// A weight's tensor in a checkpoint.
struct FoundTensor {
    const TensorEntry* entry = nullptr;     ///< nullptr = the checkpoint has none
    const TensorPattern* pattern = nullptr; ///< the pattern that matches its name
};

/// Finds weights by the patterns of an architecture and the prefix that the checkpoint uses.
class TensorFinder {
public:
    /// @param prefixes candidates, tried on the embedding's name; empty = names have no prefix
    TensorFinder(const Checkpoint& checkpoint, TensorPatterns patterns, std::span<const std::string_view> prefixes);

    /// @param layer -1 for a weight outside the layers @param layersPerGroup ModelSpec::layersPerGroup
    FoundTensor find(int layer, WeightName weight, int layersPerGroup = 1) const;
    bool holds(int layer, WeightName weight) const { return find(layer, weight).entry != nullptr; }
    /// The name that the first pattern gives; empty if the architecture has no such weight.
    std::string name(int layer, WeightName weight, int layersPerGroup = 1) const;

private:
    const TensorEntry* entryNamed(const std::string& name) const;

    const Checkpoint& m_checkpoint;
    TensorPatterns m_patterns;
    std::string_view m_prefix;
};

/// Whether a name matches a pattern, in which '*' at the beginning or the end stands for any text.
bool fits(std::string_view name, std::string_view pattern);

/// A weight's place in a checkpoint: a whole tensor, or some rows of a fused [out, in] matrix.
struct TensorSlot {
    const TensorEntry* entry = nullptr; ///< nullptr = the model has no such weight
    std::int64_t begin = 0;             ///< first row of the weight in the tensor
    std::int64_t rows = 0;
    bool transposed = false; ///< stored as [in, out]

    std::int64_t elements() const; ///< number of elements of the weight
    /// The weight's bytes in the file; if it is transposed, the bytes of the whole tensor.
    std::span<const std::byte> bytes() const;
    auto operator<=>(const TensorSlot&) const = default;
};

/// The weight of a slot, as [out, in]. @throws Error if the type is not supported
at::Tensor readSlot(const TensorSlot& slot);

/// Some rows of a weight, in the given order. Reads only these rows. @param slot not transposed
at::Tensor readRows(const TensorSlot& slot, std::span<const std::int64_t> indices);

/// The slots of every weight of a model.
class TensorSlots {
public:
    /// Finds all weights and checks their shapes, without reading them. @param path the checkpoint as the user opened
    /// it
    /// @throws Error naming the tensor that is missing or has another shape
    TensorSlots(const Checkpoint& checkpoint, const CheckpointDescription& description, const std::string& path);

    /// A weight's slot; without entry if the model has no such weight. @param layer -1 = outside the layers
    TensorSlot slot(int layer, WeightName weight) const;
    /// All slots, without repetitions, sorted.
    const std::vector<TensorSlot>& used() const { return m_used; }

private:
    std::vector<TensorSlot> m_slots; ///< by layer + 1 and weight
    std::vector<TensorSlot> m_used;
};

} // namespace secateur
