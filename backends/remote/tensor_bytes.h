#pragma once

#include "backends/remote/model_facts.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

TensorBytes bytesOf(const at::Tensor& tensor);
/// @throws Error if the bytes are not a tensor of this shape in a type of weights
at::Tensor tensorOf(const TensorBytes& bytes, const std::vector<std::int64_t>& shape);

} // namespace secateur
