#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <utility>

namespace secateur::amx {

// Products on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// Whether this processor has such tiles, and its system grants their use. Thread-safe.
bool isHere();

/// Whether product() takes such factors, and they are large enough to be worth packing.
bool suits(const at::Tensor& a, const at::Tensor& b);

/// a b in float32 for a [.., m, k] and b [.., k, n], both bfloat16; one leading dimension or none.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// ||sum of a^T b over all pairs||_F^2, its squares summed in float64, for a [rows, columns] and b [rows, columns],
/// all bfloat16, all left ones of one shape, and all right ones. The matrix is never held whole. `between` is called
/// every few hundred milliseconds, and may throw.
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

} // namespace secateur::amx
