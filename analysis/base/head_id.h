#pragma once

#include <compare>

namespace secateur {

/// A query head. Layers, and heads within a layer, count from 0.
struct HeadId {
    int layer = 0;
    int head = 0;
    auto operator<=>(const HeadId&) const = default;
};

} // namespace secateur
