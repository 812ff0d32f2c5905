#include "analysis/weights/stored_tensors.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur {

std::int64_t StoredTensor::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        count *= size;
    return count;
}

std::int64_t StoredTensor::columns() const {
    return shape.empty() ? 1 : shape.back();
}

std::int64_t StoredTensor::rows() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i)
        count *= shape[i];
    return count;
}

std::string_view name(TensorPlane plane) {
    switch (plane) {
    case TensorPlane::values:
        return "values";
    case TensorPlane::scales:
        return "scales";
    case TensorPlane::minima:
        return "minima";
    }
    return {};
}

std::optional<std::size_t> StoredTensors::find(std::string_view name) const {
    const std::vector<StoredTensor>& all = tensors();
    const auto found = std::ranges::find(all, name, &StoredTensor::name);
    return found == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - all.begin()));
}

std::string storedText(const StoredTensor& tensor, const StoredNumber& number) {
    if (!tensor.hasScales)
        return number.bits;
    std::string text = fmt::format("code {}, scale {:.6g}", number.code, number.scale);
    return tensor.hasMinima ? text + fmt::format(", minimum {:.6g}", number.minimum) : text;
}

} // namespace secateur
