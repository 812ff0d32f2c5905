#include "backends/remote/tensor_bytes.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace secateur {

namespace {

constexpr std::array weightTypes{at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

} // namespace

TensorBytes bytesOf(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.contiguous().cpu();
    return {static_cast<int>(plain.scalar_type()), plain.sizes().vec(),
            std::string(static_cast<const char*>(plain.data_ptr()), plain.nbytes())};
}

at::Tensor tensorOf(const TensorBytes& bytes, const std::vector<std::int64_t>& shape) {
    const auto* const type =
        std::ranges::find(weightTypes, bytes.type, [](at::ScalarType one) { return static_cast<int>(one); });
    if (type == weightTypes.end() || bytes.shape != shape)
        throw Error("A message has a weight of another type or shape");
    at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(*type));
    if (tensor.nbytes() != bytes.bytes.size())
        throw Error("A message has a weight of another length");
    if (!bytes.bytes.empty())
        std::memcpy(tensor.data_ptr(), bytes.bytes.data(), bytes.bytes.size());
    return tensor;
}

} // namespace secateur
