#pragma once

#include "backends/kernels/vector_loops.h"
#include "backends/kernels/vector_math.h"

namespace secateur::SECATEUR_LEVEL {

void norm(const float* x, const float* added, float* sum, const NormValues& values, std::int64_t width,
          const Target& out);
void turn(const float* cosines, const float* sines, int dims, float* head);
void activate(const float* gate, const float* up, Activation activation, std::int64_t width, const Target& out);
ExponentialSum sumExponentials(const float* logits, std::int64_t count, std::int64_t target, float softcap);
void write(const float* from, std::int64_t count, const Target& to);

} // namespace secateur::SECATEUR_LEVEL
