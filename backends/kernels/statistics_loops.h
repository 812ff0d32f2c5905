#pragma once

#include "backends/kernels/vector_loops.h"

namespace secateur::SECATEUR_LEVEL {

void innerProducts(const float* x, const float* a, const float* z, std::int64_t width, double* products);
void addColumns(const ColumnBlock& block);
void addScaled(const float* values, double factor, std::int64_t count, double* sums);
void sumMagnitudes(const MagnitudeBlock& block);
double magnitudes(const float* values, std::int64_t count);

} // namespace secateur::SECATEUR_LEVEL
