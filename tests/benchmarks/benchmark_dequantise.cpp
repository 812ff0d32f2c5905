// Speed of dequantising each quantised type to float32: with one thread, and a whole tensor with all threads.

#include "backends/formats/quants.h"
#include "backends/base/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace {

using secateur::StorageType;

template <typename Work>
double bestSeconds(Work work) {
    constexpr int runs = 7;
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

void measure(const StorageType& type) {
    constexpr std::int64_t numbers = 1 << 24;
    const std::int64_t blocks = numbers / type.elements;
    std::vector<std::byte> source(static_cast<std::size_t>(blocks * type.bytes));
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = std::byte((i * 2654435761U >> 13) & 63); // random bytes below 64, so that scales are finite
    std::vector<float> target(static_cast<std::size_t>(numbers));
    const double alone = bestSeconds([&] { type.unpack(source.data(), blocks, target.data()); });
    const double together = bestSeconds([&] { secateur::dequantise(type, source, target); });
    const double gigabytes = sizeof(float) * static_cast<double>(numbers) / 1e9;
    fmt::print("{:8} {:6.2f} GB/s on one thread, {:6.2f} GB/s as a tensor\n", type.name, gigabytes / alone,
               gigabytes / together);
}

} // namespace

int main() {
    secateur::initialiseRuntime(0);
    for (std::uint32_t number = 0; number < 64; ++number) {
        const StorageType* type = secateur::ggufType(number);
        if (type && type->unpack)
            measure(*type);
    }
}
