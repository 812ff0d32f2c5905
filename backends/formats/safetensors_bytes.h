#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A float32 tensor to write. The numbers must outlive it.
struct FloatTensor {
    std::vector<std::int64_t> shape;
    std::span<const float> numbers;
};

/// The bytes of a safetensors file of float32 tensors. Equal arguments give equal bytes.
std::string safetensorsBytes(const std::map<std::string, FloatTensor>& tensors,
                             const std::map<std::string, std::string>& metadata);

} // namespace secateur
