#pragma once

#include "backends/kernels/vector_loops.h"
#include "backends/kernels/vector_math.h"

namespace secateur::SECATEUR_LEVEL {

void attendBlock(const QueryBlock& block, const AttentionShape& shape, float* scratch);
void attendGroup(const QueryGroup& group, const AttentionShape& shape, float* scratch);
void packKeys(const float* keys, std::int64_t stride, std::int64_t count, int headDim, float* panel);

// A tile is six rows by as many vectors as leave their sums in registers.
constexpr int tileRows = 6;
constexpr int tileVectors = lanes == 16 ? 4 : 2;
constexpr int keysOfPanel = tileVectors * lanes;

} // namespace secateur::SECATEUR_LEVEL
