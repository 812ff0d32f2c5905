#pragma once

#include "analysis/running/runner.h"

#include <cstdint>

namespace secateur {

class Model;

/// Checks that each thread can multiply matrices: OpenBLAS maps a buffer for each thread that uses it, and if the limit
/// of the address space does not allow that, it tries again for ever.
/// @throws Error with the needed and the available address space
void checkProducts(const Model& model);

/// Estimate of the least memory, in bytes, that a run takes beyond what the process has: the converted LM head, two
/// layers, a copy of the larger of them in float32 if the stored type differs, and room for activations and logits.
std::int64_t leastRunBytes(const Model& model, ComputeType type);

/// Checks that a run has enough memory, before its weights are converted: a process that exceeds the limit of its
/// control group is killed without a word. Includes checkProducts(). @throws Error with the needed and the available
/// memory
void checkRunMemory(const Model& model, ComputeType type);

} // namespace secateur
