#include "analysis/weights/number_grid.h"

#include <stdexcept>

namespace secateur {

void NumberGrid::readSymbols(std::int64_t, int, std::span<std::uint16_t>) const {
    throw std::logic_error("the numbers of this grid are computed, not stored");
}

float numberAt(const NumberGrid& grid, std::int64_t row, std::int64_t column) {
    float number = 0;
    grid.read(row * grid.columns() + column, {&number, 1});
    grid.check();
    return number;
}

} // namespace secateur
