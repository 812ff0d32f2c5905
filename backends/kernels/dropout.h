#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace secateur {

/// Replaces elements by 0 with a probability, and divides the others by 1 - probability. A hash of the key and the
/// element's index decides, so that a repeated call drops the same elements on every device and with any number of
/// threads. For sources only: includes ATen.
/// @param x float32, contiguous @param probability at least 0, less than 1
at::Tensor dropped(const at::Tensor& x, double probability, std::uint64_t key);

/// A key that is made from two others.
std::uint64_t mixedKey(std::uint64_t a, std::uint64_t b);

} // namespace secateur
