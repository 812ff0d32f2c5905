#pragma once

#include "analysis/running/runner.h"

#include <cstdint>
#include <string>

namespace secateur {

class Model;

/// The bytes of converted weights that a device other than the CPU may hold by default: three quarters of its free
/// memory, or no limit if libtorch cannot tell. @param device "cuda", "cuda:1"
std::int64_t deviceBudget(const std::string& device);

/// Checks that each thread can multiply matrices: OpenBLAS maps a buffer for each thread that uses it, and if the limit
/// of the address space does not allow that, it tries again for ever.
/// @throws Error with the needed and the available address space
void checkProducts(const Model& model);

/// How a runner holds converted weights.
struct WeightHolding {
    std::int64_t budget; ///< of the WeightStore
    bool isPacked;       ///< whether they are packed copies; if not, the run verifies an export on a few tokens
};

/// Estimate of the least memory, in bytes, that a run takes beyond what the process has: the converted LM head and two
/// layers, or the largest of these if the budget holds no layer; if weights are packed and the stored type differs, a
/// copy of the largest in float32; and room for activations and logits.
std::int64_t leastRunBytes(const Model& model, ComputeType type, const WeightHolding& holding);

/// Bytes that the converted weights leave of the available memory. @param available bytes
std::int64_t bytesBesideWeights(const Model& model, ComputeType type, const WeightHolding& holding,
                                std::int64_t available);

/// Memory for converted weights on the CPU, unless the user chose another: half of the available memory, or 0 (each
/// layer is freed before the next) if a run would otherwise have too little. @param available bytes
std::int64_t defaultBudget(const Model& model, ComputeType type, bool isPacked, std::int64_t available);

/// Checks that a run has enough memory, before its weights are converted: a process that exceeds the limit of its
/// control group is killed without a word. Includes checkProducts(). @throws Error with the needed and the available
/// memory
void checkRunMemory(const Model& model, ComputeType type, const WeightHolding& holding);

} // namespace secateur
