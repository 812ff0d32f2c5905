#pragma once

#include <ATen/ATen.h>
#include <torch/version.h>

namespace secateur {

/// libtorch's own fused attention, where this version has one. For sources only: pulls in ATen.
inline constexpr bool hasFusedAttention = TORCH_VERSION_MAJOR > 2 ||
                                          (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);

/// @param visible as plain_loops.h says; undefined = causal, without padding in front of any query
inline at::Tensor fusedAttention([[maybe_unused]] const at::Tensor& q, [[maybe_unused]] const at::Tensor& k,
                                 [[maybe_unused]] const at::Tensor& v, [[maybe_unused]] const at::Tensor& visible,
                                 [[maybe_unused]] double scale) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    if (visible.defined())
        return at::scaled_dot_product_attention(q, k, v, visible, 0.0, false, scale);
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, scale);
#else
    return {};
#endif
}

} // namespace secateur
