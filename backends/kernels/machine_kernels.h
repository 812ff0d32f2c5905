#pragma once

#include "analysis/model/kernels.h"

#include <memory>
#include <string>

namespace secateur {

/// The kernels for this machine's CPU. They use AMX tiles, oneDNN and bfloat16 if the processor has instructions for
/// them.
const Kernels& machineKernels();

/// The kernels for a device. @param device "cpu", "cuda" or "cuda:N" @throws Error if there is no such device
std::shared_ptr<const Kernels> kernelsOf(const std::string& device);

/// Whether oneDNN can multiply bfloat16 matrices on this processor.
bool multipliesBfloat16();
/// Whether this processor has instructions for bfloat16 products. Without them, bfloat16 products are no faster than
/// float32 products.
bool multipliesBfloat16Fast();

/// The kernels for sums over tokens on the CPU (token_loops.cpp).
const TokenKernels& machineTokenKernels();

} // namespace secateur
