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

/// A weight's place in a checkpoint.
struct FoundTensor {
    const TensorEntry* entry = nullptr;     ///< nullptr = the checkpoint has none
    const TensorPattern* pattern = nullptr; ///< the one that names it
};

/// Finds weights by the patterns of an architecture and the prefix that the checkpoint uses.
class TensorFinder {
public:
    /// @param prefixes candidates, tried on the embedding; empty = the names have none
    TensorFinder(const Checkpoint& checkpoint, TensorPatterns patterns, std::span<const std::string_view> prefixes);

    /// @param layer -1 for a weight of no layer @param layersPerGroup of ALBERT
    FoundTensor find(int layer, WeightName which, int layersPerGroup = 1) const;
    bool holds(int layer, WeightName which) const { return find(layer, which).entry != nullptr; }
    /// What the first pattern calls it. Empty when the architecture has no such weight.
    std::string name(int layer, WeightName which, int layersPerGroup = 1) const;

private:
    const TensorEntry* entryNamed(const std::string& name) const;

    const Checkpoint& m_checkpoint;
    TensorPatterns m_patterns;
    std::string_view m_prefix;
};

/// Whether a name fits a pattern, in which '*' at the beginning or the end stands for anything.
bool fits(std::string_view name, std::string_view pattern);

/// Where a weight lies in a checkpoint: a whole tensor, or some rows of the [out, in] matrix that it fuses.
struct TensorSlot {
    const TensorEntry* entry = nullptr; ///< nullptr = the model has no such weight
    std::int64_t begin = 0;             ///< first row of the weight
    std::int64_t rows = 0;
    bool transposed = false; ///< kept as [in, out]

    std::int64_t elements() const; ///< of the weight
    /// Where the file keeps it; the whole tensor where columns are fused.
    std::span<const std::byte> bytes() const;
    auto operator<=>(const TensorSlot&) const = default;
};

/// The weight of a slot, as [out, in]. @throws Error when the type cannot be read
at::Tensor readSlot(const TensorSlot& slot);

/// Some rows of it, in the order given. Reads no others. @param slot not transposed
at::Tensor readRows(const TensorSlot& slot, std::span<const std::int64_t> indices);

/// The slots of every weight of a model.
class TensorSlots {
public:
    /// Finds all weights and checks their shapes, reads none. @param path what the person opened
    /// @throws Error naming the tensor that is missing or of another shape
    TensorSlots(const Checkpoint& checkpoint, const CheckpointDescription& description, const std::string& path);

    /// An empty slot when there is none. @param layer -1 = of none
    TensorSlot slot(int layer, WeightName which) const;
    /// Each slot once, in order of their place.
    const std::vector<TensorSlot>& used() const { return m_used; }

private:
    std::vector<TensorSlot> m_slots; ///< by layer + 1 and kind
    std::vector<TensorSlot> m_used;
};

} // namespace secateur
