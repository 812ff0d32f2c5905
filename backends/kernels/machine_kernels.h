#pragma once

#include "analysis/model/kernels.h"

#include <memory>
#include <string>

namespace secateur {

/// The kernels for this machine's CPU, which use AMX tiles and oneDNN, and bfloat16 if the processor has instructions
/// for it.
const Kernels& machineKernels();

/// The kernels for a device. @param device "cpu", "cuda" or "cuda:N" @throws Error if there is no such device
std::shared_ptr<const Kernels> kernelsOf(const std::string& device);

/// Whether oneDNN can multiply bfloat16 matrices on this processor.
bool multipliesBfloat16();
/// Whether this processor has instructions for bfloat16 products. Without them, such products are no faster than
/// those of float32.
bool multipliesBfloat16Fast();

/// The kernels for sums over tokens, by loops on the CPU (token_loops.cpp).
const TokenKernels& machineTokenKernels();

} // namespace secateur
