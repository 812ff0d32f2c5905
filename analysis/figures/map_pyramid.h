#pragma once

#include <cstddef>
#include <vector>

namespace secateur {

/// A square map at every power of two down to a single cell: a cell of a level is the largest of the four below it, so
/// that a map of thousands of cells is drawn from about as many as there are pixels, and thin lines stay visible.
class MapPyramid {
public:
    struct Level {
        int side = 0;
        int cells = 1;             ///< of the map, along the edge of one of the level's
        std::vector<float> values; ///< [side, side]

        float at(int row, int column) const {
            return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(side) +
                          static_cast<std::size_t>(column)];
        }
    };

    /// @param values [side, side]
    MapPyramid(std::vector<float> values, int side);

    int side() const { return m_levels.front().side; }
    float at(int row, int column) const { return m_levels.front().at(row, column); }
    /// The coarsest level that has a cell for each so many of the map.
    const Level& level(double cells) const;
    /// Of the map's values above 0, at most so many, evenly spread.
    std::vector<double> sample(std::size_t most) const;

private:
    std::vector<Level> m_levels; ///< the map first
};

} // namespace secateur
