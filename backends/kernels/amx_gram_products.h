#pragma once

#include "analysis/model/rows.h"

#include <cstdint>
#include <functional>

namespace secateur::amx {

// Inner products of Gram matrices on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// Whether gramInnerProducts() takes such factors, and they are large enough to be worth packing.
bool suitsGramInnerProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks);

/// Kernels::gramInnerProducts, rounded to bfloat16. No Gram matrix is ever held whole.
GramInnerProducts gramInnerProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain,
                                    std::int64_t blocks, const std::function<void()>& between);

} // namespace secateur::amx
