#include "backends/formats/encode.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>

namespace secateur {

bool canEncode(const StorageType& type) {
    return type.name == "F32" || type.name == "F16" || type.name == "BF16";
}

void encodeRow(const StorageType& type, std::span<const float> numbers, std::span<std::byte> target) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (type.name == "F32") {
            std::memcpy(target.data() + 4 * i, &numbers[i], 4);
        } else if (type.name == "F16") {
            const c10::Half h(numbers[i]);
            std::memcpy(target.data() + 2 * i, &h.x, 2);
        } else {
            const c10::BFloat16 h(numbers[i]);
            std::memcpy(target.data() + 2 * i, &h.x, 2);
        }
    }
}

} // namespace secateur
