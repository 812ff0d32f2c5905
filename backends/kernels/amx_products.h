#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <utility>

namespace secateur::amx {

// Products on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// Whether this processor has such tiles, and its system grants their use. Thread-safe.
bool isHere();

/// Whether grams() and squaredNorm() take such factors, and they are large enough to be worth packing.
bool suitsGrams(const at::Tensor& rows, std::int64_t blocks);
bool suitsNorm(const at::Tensor& a, const at::Tensor& b);

/// Gram matrices of each of `blocks` blocks of rows [rows, columns] bfloat16, without the product of their lower halves
/// if they have some. -> [blocks, rows / blocks, rows / blocks] float32, symmetric
at::Tensor grams(const at::Tensor& high, const at::Tensor& low, std::int64_t blocks);

/// ||sum of a^T b over all pairs||_F^2, its squares summed in float64, for a [rows, columns] and b [rows, columns],
/// all bfloat16, all left ones of one shape, and all right ones. The matrix is never held whole. `between` is called
/// every few hundred milliseconds, and may throw.
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

} // namespace secateur::amx
