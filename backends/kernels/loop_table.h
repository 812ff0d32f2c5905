#pragma once

#include "backends/kernels/vector_loops.h"
#include "backends/kernels/vector_math.h"
#include "backends/kernels/vectors.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

// The loops that are compiled once for each instruction set. VectorLoops documents them.

void attendBlock(const QueryBlock& block, const AttentionShape& shape, float* scratch);
void attendGroup(const QueryGroup& group, const AttentionShape& shape, float* scratch);
void packKeys(const float* keys, std::int64_t stride, std::int64_t count, int headDim, float* panel);

// A tile has six rows. Its width is as many vectors as can be summed in registers.
constexpr int tileRows = 6;
constexpr int tileVectors = lanes == 16 ? 4 : 2;
constexpr int keysOfPanel = tileVectors * lanes;

void norm(const float* x, const float* added, float* sum, const NormValues& values, std::int64_t width,
          const Destination& out);
void rotate(const float* cosines, const float* sines, int dims, float* head);
void activate(const float* gate, const float* up, Activation activation, std::int64_t width, const Destination& out);
ExponentialSum sumExponentials(const float* logits, std::int64_t count, std::int64_t target, float softcap);
void write(const float* from, std::int64_t count, const Destination& to);
void widen(const Source& from, std::int64_t count, float* to);

void innerProducts(const float* x, const float* a, const float* z, std::int64_t width, double* products);
void addColumns(const ColumnBlock& block);
void addScaled(const float* values, double factor, std::int64_t count, double* sums);
void sumMagnitudes(const MagnitudeBlock& block);
double magnitudes(const float* values, std::int64_t count);

void multiplyPanel(const PanelProduct& product);
void multiplyBlocks(const BlockProduct& product);

void normBackward(const float* x, const float* gradient, const NormValues& norm, std::int64_t width, float* result);
void activateBackward(const float* gate, const float* up, const float* gradient, Activation activation,
                      std::int64_t width, float* dGate, float* dUp);
void attendBackward(const GroupBackward& group, const AttentionShape& shape, float* scratch);

} // namespace secateur::SECATEUR_INSTRUCTION_SET
