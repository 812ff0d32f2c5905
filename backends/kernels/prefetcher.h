#pragma once

#include <cstddef>
#include <cstdint>

namespace secateur {

namespace { // each source has its own copy, because sources are compiled for different instruction sets

/// Prefetches memory to the L2 cache, spread over the parts of a product.
class Prefetcher {
public:
    /// @param calls number of calls of fetch()
    Prefetcher(const std::byte* from, std::int64_t bytes, std::int64_t calls)
        : m_next(from)
        , m_lines((bytes + calls * lineBytes - 1) / (calls * lineBytes)) {}

    void fetch() {
        for (std::int64_t line = 0; line < m_lines; ++line, m_next += lineBytes)
            __builtin_prefetch(m_next, 0, 2);
    }

private:
    static constexpr std::int64_t lineBytes = 64;

    const std::byte* m_next;
    std::int64_t m_lines; ///< number of cache lines per call
};

} // namespace

} // namespace secateur
