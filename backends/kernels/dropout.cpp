#include "backends/kernels/dropout.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace secateur {

namespace {

// The factors of a bijective hash of 32 bits, C. Wellons's "lowbias32". Its loop is vectorised.
constexpr std::uint32_t firstFactor = 0x7feb352dU;
constexpr std::uint32_t secondFactor = 0x846ca68bU;

/// Where the compiler can choose it at run time, the loop is compiled for wider vectors too.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SECATEUR_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SECATEUR_WIDE
#endif

/// Which elements are dropped, and the factor of the others.
struct Drop {
    std::uint32_t added;
    std::uint32_t toggled;
    std::uint32_t limit;
    float factor;
};

SECATEUR_WIDE void dropSome(const float* from, float* to, std::uint32_t begin, std::uint32_t end, const Drop& drop) {
    const Drop own = drop;
    for (std::uint32_t i = begin; i < end; ++i) {
        std::uint32_t x = (i + own.added) ^ own.toggled;
        x ^= x >> 16;
        x *= firstFactor;
        x ^= x >> 15;
        x *= secondFactor;
        x ^= x >> 16;
        to[i - begin] = x < own.limit ? 0.F : from[i - begin] * own.factor;
    }
}

/// Elements whose hash is below this are dropped.
std::uint32_t limitOf(double probability) {
    return static_cast<std::uint32_t>(probability * 4294967296.0);
}

/// The factors of the elements by operations of ATen, for other devices.
at::Tensor factors(const at::Tensor& x, double probability, std::uint64_t key) {
    constexpr std::int64_t bits = 0xffffffffLL;
    at::Tensor hash = at::arange(x.numel(), x.options().dtype(at::kLong)).add_(static_cast<std::int64_t>(key & bits));
    hash = hash.bitwise_and_(bits).bitwise_xor_(static_cast<std::int64_t>(key >> 32));
    const auto shifted = [](const at::Tensor& value, int shift) {
        return at::floor_divide(value, std::int64_t{1} << shift);
    };
    hash = hash.bitwise_xor(shifted(hash, 16)).mul_(std::int64_t{firstFactor}).bitwise_and_(bits);
    hash = hash.bitwise_xor(shifted(hash, 15)).mul_(std::int64_t{secondFactor}).bitwise_and_(bits);
    hash = hash.bitwise_xor(shifted(hash, 16));
    return hash.ge(std::int64_t{limitOf(probability)}).to(at::kFloat).div_(1 - probability).view(x.sizes());
}

} // namespace

at::Tensor dropped(const at::Tensor& x, double probability, std::uint64_t key) {
    if (probability == 0)
        return x;
    if (!x.device().is_cpu())
        return x * factors(x, probability, key);
    at::Tensor result = at::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = result.data_ptr<float>();
    const Drop drop{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), limitOf(probability),
                    static_cast<float>(1 / (1 - probability))};
    constexpr std::int64_t grain = 1 << 14;
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
        dropSome(from + begin, to + begin, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), drop);
    });
    return result;
}

// The finaliser of SplitMix64.
std::uint64_t mixedKey(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a + 0x9e3779b97f4a7c15ULL * (b + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

} // namespace secateur
