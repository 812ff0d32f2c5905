#include "backends/kernels/bfloat16_rows.h"

#include "backends/kernels/amx_products.h"
#include "backends/kernels/bfloat16_vectors.h"

#include <atomic>

namespace secateur {

namespace {

constexpr RowProducts onTiles{amx::multiply, amx::multiply};
constexpr RowProducts inVectors{avx512::multiply, avx512::multiply};

bool hasBfloat16Vectors() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    return avx512::multipliesRows && amx::areBuilt && // pack()
           __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool isAvailable(RowProductKind kind) {
    return kind == RowProductKind::none || (kind == RowProductKind::tiles ? amx::isHere() : hasBfloat16Vectors());
}

std::atomic<RowProductKind>& chosen() {
    static std::atomic<RowProductKind> kind = isAvailable(RowProductKind::tiles)     ? RowProductKind::tiles
                                              : isAvailable(RowProductKind::vectors) ? RowProductKind::vectors
                                                                                     : RowProductKind::none;
    return kind;
}

} // namespace

const RowProducts* rowProducts() {
    switch (chosen()) {
    case RowProductKind::tiles:
        return &onTiles;
    case RowProductKind::vectors:
        return &inVectors;
    case RowProductKind::none:
        break;
    }
    return nullptr;
}

bool useRowProducts(RowProductKind kind) {
    if (!isAvailable(kind))
        return false;
    chosen() = kind;
    return true;
}

} // namespace secateur
