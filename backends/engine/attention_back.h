#pragma once

#include "backends/engine/layer_math.h"
#include "backends/kernels/gradient_loops.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace secateur {

/// The way back through LayerMath::context() on the processor, without cache. Keeps what it needs: the graph that it
/// is part of outlives the layer's weights. For sources only: pulls in ATen.
class AttentionBack {
public:
    /// @param projected what context() read, contiguous
    AttentionBack(const AttentionInput& input, at::Tensor projected);

    /// @param dContext [tokens, heads headDim] -> of `projected`
    at::Tensor ofProjected(const at::Tensor& dContext) const;

    /// Of the queries, keys and values in it. @param perHead whether keys and values are those of query heads
    ProjectionGradients ofParts(const at::Tensor& dContext, bool perHead) const;

private:
    at::Tensor empty(std::int64_t heads) const;
    void pull(const at::Tensor& dContext, const ProjectionGradients& result) const;

    std::vector<int> m_groupBegin;
    AttentionShape m_shape;
    Norm m_queryNorm;
    Norm m_keyNorm;
    RotaryTable m_rotary;
    std::vector<int> m_lengths;
    at::Tensor m_kvHeads;   ///< [heads]
    at::Tensor m_projected; ///< [rows, positions, width]
};

} // namespace secateur
