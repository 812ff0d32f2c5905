#pragma once

#include "backends/config/architectures.h"
#include "backends/formats/checkpoint.h"

#include <span>
#include <string>
#include <string_view>

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

} // namespace secateur
