#pragma once

#include <cstddef>
#include <span>

namespace secateur {

/// Keeps the program alive when a mapped file loses its pages. Touching a page behind the end of a file raises SIGBUS;
/// inside a guarded mapping, that page and all behind it are replaced by zeros instead, and the guard remembers. Any
/// other SIGBUS goes where it went before the first guard was made.
class MappingGuard {
public:
    /// @param mapping whole pages, but for the last; must outlive the guard
    explicit MappingGuard(std::span<const std::byte> mapping);
    ~MappingGuard();
    MappingGuard(const MappingGuard&) = delete;
    MappingGuard& operator=(const MappingGuard&) = delete;

    bool wasHit() const;

    struct Slot;

private:
    Slot* m_slot;
};

} // namespace secateur
