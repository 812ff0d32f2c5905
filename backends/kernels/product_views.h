#pragma once

#include <ATen/ATen.h>

namespace secateur {

// For sources only: pulls in ATen.

/// Whether both are views of the same numbers, one turned over: half of their product is enough.
inline bool isTransposeOf(const at::Tensor& b, const at::Tensor& a) {
    if (a.data_ptr() != b.data_ptr() || a.dim() != b.dim())
        return false;
    const at::Tensor turned = a.transpose(-1, -2);
    return turned.sizes() == b.sizes() && turned.strides() == b.strides();
}

} // namespace secateur
