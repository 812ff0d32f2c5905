#pragma once

#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

namespace secateur {

/// The scalar type of tensors for a ComputeType. For sources only: includes ATen.
inline at::ScalarType scalarTypeOf(ComputeType type) {
    switch (type) {
    case ComputeType::bfloat16:
        return at::kBFloat16;
    case ComputeType::float16:
        return at::kHalf;
    default:
        return at::kFloat;
    }
}

} // namespace secateur
