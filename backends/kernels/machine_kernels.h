#pragma once

#include "analysis/model/kernels.h"

#include <memory>
#include <string>

namespace secateur {

/// Kernels by oneDNN for the processor that this runs on: bfloat16 where it multiplies such numbers itself.
const Kernels& machineKernels();

/// @param device "cpu", "cuda" or "cuda:N" @throws Error when there is no such device here
std::shared_ptr<const Kernels> kernelsOf(const std::string& device);

/// Whether oneDNN can multiply bfloat16 matrices on this processor.
bool multipliesBfloat16();
/// Whether this processor has instructions for it; without them bfloat16 is no faster than float32.
bool multipliesBfloat16Fast();

/// By this processor's loops, each number read once.
const TokenKernels& machineTokenKernels();

} // namespace secateur
