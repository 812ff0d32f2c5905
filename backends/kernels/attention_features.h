#pragma once

#include "analysis/attention_feature.h"
#include "backends/kernels/layer_loops.h"

#include <cstdint>
#include <span>

namespace secateur {

/// What attention is like, without a map: of each query of each head some numbers of its softmax(scale q k^T).
/// @param queries, keysAndValues, shape, first, lengths as of attend(); values are not read
/// @param features [rows, heads, features, positions] float32; nothing is written behind lengths[row]
void describeAttention(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                       std::span<const int> first, std::span<const int> lengths,
                       std::span<const AttentionFeature> wanted, const at::Tensor& features);

} // namespace secateur
