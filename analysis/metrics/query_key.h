#pragma once

#include <ATen/core/Tensor.h>

namespace secateur {

/// Query and key projections of a layer in float64. For sources only: pulls in ATen.
struct QueryKey {
    at::Tensor query;      // [heads, headDim, columns]
    at::Tensor groupQuery; // [kvHeads, headDim, columns], summed over the heads of each group
    at::Tensor key;        // [kvHeads, headDim, columns]
};

} // namespace secateur
