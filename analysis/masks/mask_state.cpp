#include "analysis/masks/mask_state.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur {

namespace {

bool sameMask(const NamedMask& a, const NamedMask& b) {
    return a.name == b.name && (a.record == b.record || *a.record == *b.record);
}

} // namespace

std::string MaskState::freeName(const std::string& wanted) const {
    std::string name = wanted;
    for (int number = 2; std::ranges::find(masks, name, &NamedMask::name) != masks.end(); ++number)
        name = fmt::format("{} {}", wanted, number);
    return name;
}

bool MaskState::operator==(const MaskState& other) const {
    return current == other.current && *isProtected == *other.isProtected &&
           std::ranges::equal(masks, other.masks, sameMask);
}

} // namespace secateur
