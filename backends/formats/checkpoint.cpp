#include "backends/formats/checkpoint.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace secateur {

namespace {

at::ScalarType scalarType(StorageType::Reading reading) {
    using enum StorageType::Reading;
    switch (reading) {
    case float64:
        return at::kDouble;
    case float16:
        return at::kHalf;
    case bfloat16:
        return at::kBFloat16;
    case int64:
        return at::kLong;
    case int32:
        return at::kInt;
    case int16:
        return at::kShort;
    case int8:
        return at::kChar;
    case uint8:
    case boolean:
        return at::kByte;
    case float32:
    case dequantised:
    case unsupported:
        return at::kFloat;
    }
    return at::kFloat;
}

at::Tensor viewOf(const TensorEntry& entry) {
    const at::TensorOptions options = at::TensorOptions().dtype(scalarType(entry.type->reading));
    // ATen wants a pointer it could write through; the mapping is read-only and nothing here writes.
    auto* data = const_cast<std::byte*>(entry.data.data());
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    if (address % static_cast<std::uintptr_t>(entry.type->bytes) != 0) {
        at::Tensor copy = at::empty(entry.shape, options);
        std::copy(entry.data.begin(), entry.data.end(), static_cast<std::byte*>(copy.data_ptr()));
        return copy;
    }
    return at::from_blob(
        data, entry.shape, [file = entry.file](void*) {}, options);
}

} // namespace

std::int64_t TensorEntry::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        count *= size;
    return count;
}

Checkpoint::Checkpoint(std::vector<TensorEntry> tensors)
    : m_tensors(std::move(tensors)) {
    std::ranges::sort(m_tensors, {}, &TensorEntry::name);
    const auto twin = std::ranges::adjacent_find(m_tensors, {}, &TensorEntry::name);
    if (twin != m_tensors.end())
        throw Error("appears twice", twin->subject());
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(m_tensors, name, {}, &TensorEntry::name);
    return found != m_tensors.end() && found->name == name ? &*found : nullptr;
}

at::Tensor readTensor(const TensorEntry& entry) {
    try {
        switch (entry.type->reading) {
        case StorageType::Reading::unsupported:
            throw Error(fmt::format("is stored as {}, which cannot be read", entry.type->name), entry.subject(),
                        "Types that can be read are " + readableTypes(*entry.type));
        case StorageType::Reading::dequantised: {
            at::Tensor result = at::empty(entry.shape, at::kFloat);
            dequantise(*entry.type, entry.data, {result.data_ptr<float>(), static_cast<std::size_t>(result.numel())});
            return result;
        }
        case StorageType::Reading::boolean:
            // A byte of a damaged file may be neither 0 nor 1, which no bool in memory may be.
            return viewOf(entry).ne(0);
        default:
            return viewOf(entry);
        }
    } catch (const c10::Error& error) {
        throw Error(error.what_without_backtrace(), entry.subject());
    }
}

std::int64_t elementCount(std::span<const std::int64_t> shape, const std::string& subject) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        if (size < 0)
            throw Error(fmt::format("has the negative dimension {}", size), subject);
        if (size > 0 && count > std::numeric_limits<std::int64_t>::max() / size)
            throw Error("has a shape whose size overflows: " + shapeText(shape), subject);
        count *= size;
    }
    return count;
}

std::string shapeText(std::span<const std::int64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

void refuseOverlaps(std::vector<TensorEntry>& entries) {
    const auto begin = [](const TensorEntry& entry) { return entry.data.data(); };
    std::ranges::sort(entries, {}, begin);
    const TensorEntry* previous = nullptr;
    for (const TensorEntry& entry : entries) {
        if (entry.data.empty())
            continue;
        if (previous && previous->data.data() + previous->data.size() > entry.data.data())
            throw Error(fmt::format("shares bytes with tensor {}", previous->name), entry.subject());
        previous = &entry;
    }
}

} // namespace secateur
