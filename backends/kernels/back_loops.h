#pragma once

#include "backends/kernels/vector_loops.h"
#include "backends/kernels/vectors.h"

namespace secateur::SECATEUR_LEVEL {

void normBack(const float* x, const float* gradient, const NormValues& norm, std::int64_t width, float* result);
void activateBack(const float* gate, const float* up, const float* gradient, Activation activation, std::int64_t width,
                  float* dGate, float* dUp);
void attendBack(const GroupBack& group, const AttentionShape& shape, float* scratch);

} // namespace secateur::SECATEUR_LEVEL
