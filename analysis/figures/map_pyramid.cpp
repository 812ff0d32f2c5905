#include "analysis/figures/map_pyramid.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

MapPyramid::Level halved(const MapPyramid::Level& level) {
    MapPyramid::Level half;
    half.side = (level.side + 1) / 2;
    half.cells = 2 * level.cells;
    half.values.resize(static_cast<std::size_t>(half.side) * static_cast<std::size_t>(half.side));
    auto cell = half.values.begin();
    for (int row = 0; row < level.side; row += 2) {
        const int below = std::min(row + 1, level.side - 1);
        for (int column = 0; column < level.side; column += 2) {
            const int right = std::min(column + 1, level.side - 1);
            *cell++ = std::max(
                {level.at(row, column), level.at(row, right), level.at(below, column), level.at(below, right)});
        }
    }
    return half;
}

} // namespace

MapPyramid::MapPyramid(std::vector<float> values, int side) {
    m_levels.push_back({side, 1, std::move(values)});
    while (m_levels.back().side > 1)
        m_levels.push_back(halved(m_levels.back()));
}

const MapPyramid::Level& MapPyramid::level(double cells) const {
    const auto finer = std::ranges::find_if(m_levels, [&](const Level& level) { return level.cells > cells; });
    return finer == m_levels.begin() ? m_levels.front() : *std::prev(finer);
}

std::vector<double> MapPyramid::sample(std::size_t most) const {
    const std::vector<float>& values = m_levels.front().values;
    const auto visible = static_cast<std::size_t>(std::ranges::count_if(values, [](float value) { return value > 0; }));
    const std::size_t step = std::max<std::size_t>(visible / std::max<std::size_t>(most, 1), 1);
    std::vector<double> sample;
    std::size_t index = 0;
    for (const float value : values)
        if (value > 0 && index++ % step == 0)
            sample.push_back(value);
    return sample;
}

} // namespace secateur
