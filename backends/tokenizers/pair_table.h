#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace secateur {

/// Which pairs of symbols merge, in what order, and into what.
class PairTable {
public:
    static constexpr std::uint32_t never = 0xFFFFFFFFU;

    struct Merge {
        std::uint32_t rank = never; ///< low ranks merge first
        int result = 0;
    };

    explicit PairTable(std::size_t pairs)
        : m_slots(std::bit_ceil(2 * pairs + 2)) {}

    /// The last one of a pair counts. At most as many pairs as were announced.
    void set(int left, int right, Merge merge) { m_slots[slotOf(keyOf(left, right))] = {keyOf(left, right), merge}; }
    Merge find(int left, int right) const {
        // Symbols without an id never merge.
        return left < 0 || right < 0 ? Merge() : m_slots[slotOf(keyOf(left, right))].merge;
    }

private:
    struct Slot {
        std::uint64_t key = free;
        Merge merge;
    };
    static constexpr std::uint64_t free = ~std::uint64_t{0};

    static std::uint64_t keyOf(int left, int right) {
        return (static_cast<std::uint64_t>(left) << 32U) | static_cast<std::uint32_t>(right);
    }
    std::size_t slotOf(std::uint64_t key) const {
        const std::size_t mask = m_slots.size() - 1;
        std::size_t slot = ((key * 0x9E3779B97F4A7C15U) >> 24U) & mask;
        while (m_slots[slot].key != key && m_slots[slot].key != free)
            slot = (slot + 1) & mask;
        return slot;
    }

    std::vector<Slot> m_slots;
};

} // namespace secateur
