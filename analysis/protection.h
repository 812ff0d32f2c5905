#pragma once

#include "analysis/mask_algebra.h"

#include <string_view>
#include <vector>

namespace secateur {

/// What cuts must not touch. A protected layer keeps its attention as it is, its MLP, its heads and neurons; a
/// protected head also keeps the attention and the block that it lies in, but not its neighbours.
class Protection {
public:
    /// Nothing is protected.
    explicit Protection(const ModelSpec& spec);

    /// "none"; "first_last", the first and the last layer; or a list by comma of layers ("0"), ranges of layers
    /// ("0-2"), heads ("3.4", layer and head) and ranges of heads ("5.1-3"). Layers that share their weights are
    /// protected together. @throws UsageError naming the part that is none of these, or that the model does not have
    static Protection parse(std::string_view text, const ModelSpec& spec);

    void protectLayer(int layer);
    void protectHead(const HeadId& head);

    bool isEmpty() const;
    /// @param index as isCut
    bool covers(const ModelSpec& spec, CutUnit unit, int layer, int index) const;
    /// Brings back what of a mask is protected.
    void restore(PruningMask& mask) const;

private:
    PruningMask m_mask; ///< cuts just what is protected
};

} // namespace secateur
