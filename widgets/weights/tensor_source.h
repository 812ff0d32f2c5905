#pragma once

#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/stored_tensors.h"
#include "analysis/weights/tensor_comparison.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What a picture of a tensor shows.
enum class TensorShown {
    values,
    scales,
    minima,
    other,      ///< the same tensor of the compared checkpoint
    difference, ///< compared checkpoint minus this one
};

/// The tensors of the open checkpoint and those of a compared one, and the pictures that were read last. Lives on the
/// GUI thread; it hands out values that jobs share.
class TensorSource {
public:
    /// @param stored null = none; ends the comparison
    void setStored(std::shared_ptr<const StoredTensors> stored);
    /// @param other null = no comparison
    void setOther(std::shared_ptr<const StoredTensors> other, TensorPairs pairs);

    const std::shared_ptr<const StoredTensors>& stored() const { return m_stored; }
    const std::shared_ptr<const StoredTensors>& other() const { return m_other; }
    const TensorPairs& pairs() const { return m_pairs; }
    const StoredTensor& tensor(std::size_t index) const { return m_stored->tensors()[index]; }

    /// What there is to show of a tensor: first its values.
    std::vector<TensorShown> choices(std::size_t tensor) const;
    /// The pairs of a tensor: one for each weight that it holds.
    std::vector<const TensorPair*> pairsOf(std::size_t tensor) const;
    /// A grid for pictures and statistics. @throws Error if the type cannot be decoded, or the tensors cannot be
    /// compared
    std::shared_ptr<const NumberGrid> grid(std::size_t tensor, TensorShown shown) const;
    /// Pictures of a grid. Those that were used last are kept, within a few dozen megabytes. @throws as grid()
    std::shared_ptr<BlockPyramid> pyramid(std::size_t tensor, TensorShown shown);

private:
    struct Kept {
        std::size_t tensor;
        TensorShown shown;
        std::shared_ptr<BlockPyramid> pyramid;
    };

    void dropOldest();

    std::shared_ptr<const StoredTensors> m_stored;
    std::shared_ptr<const StoredTensors> m_other;
    TensorPairs m_pairs;
    std::deque<Kept> m_kept; ///< last used first
};

/// The differences of the pairs of one tensor as one: norms are those of all their numbers.
TensorDifference joined(const std::vector<TensorDifference>& parts);

} // namespace secateur
