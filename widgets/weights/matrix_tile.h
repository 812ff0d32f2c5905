#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_scale.h"

#include <QImage>
#include <QRectF>

#include <cstdint>
#include <optional>
#include <vector>

namespace secateur {

/// A cell of a matrix. Rows and columns count from 0.
struct MatrixCell {
    std::int64_t row = 0;
    std::int64_t column = 0;
    bool operator==(const MatrixCell&) const = default;
};

/// A rectangle of cells of a matrix.
struct CellWindow {
    std::int64_t row = 0;    ///< of the first cell
    std::int64_t column = 0; ///< of the first cell
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    bool contains(MatrixCell cell) const;
    bool contains(const CellWindow& other) const;
    bool operator==(const CellWindow&) const = default;
};

/// A picture of a rectangle of a matrix that a job made: a number and a colour for each block of cells.
struct MatrixTile {
    CellWindow window; ///< the cells of the blocks, within the matrix
    int rows = 0;      ///< of blocks
    int columns = 0;   ///< of blocks
    std::int64_t rowsPerBlock = 1;
    std::int64_t columnsPerBlock = 1;
    std::vector<float> values;   ///< [rows, columns]; NaN = no number
    std::vector<char> notFinite; ///< [rows, columns] 1 = a number of the block is NaN or infinite; empty = none is
    bool isCoarse = false;       ///< the numbers are those of a sample of the cells; finer ones follow
    QImage picture;              ///< [rows, columns], a pixel for each block; transparent where there is no number
    ColourRange range;

    /// Whether each block is one cell.
    bool isExact() const { return rowsPerBlock == 1 && columnsPerBlock == 1; }
    /// The number of a cell; nothing if the tile has none of this cell alone.
    std::optional<float> at(MatrixCell cell) const;
    /// The cells that the picture covers, as x, y, width and height. The last blocks may reach beyond the window.
    QRectF extent() const;
};

/// The part of a matrix that a view shows, and the blocks of which it can show each as about a pixel.
struct TileRequest {
    CellWindow window;
    std::int64_t rowsPerBlock = 1;    ///< a power of two
    std::int64_t columnsPerBlock = 1; ///< a power of two
    bool operator==(const TileRequest&) const = default;
};

/// The colour of blocks with NaN or infinite numbers. No colour map has it.
inline constexpr QRgb notFiniteColour = qRgb(230, 0, 230);

/// Chooses the range of a tile's colours and paints its picture. Any thread may call it.
/// @param before range of the picture before this one, which is kept if it suits the values too, so that colours do not
/// change while a view moves; nothing = a new range
void paintTile(MatrixTile& tile, const ColourScale& scale, const std::optional<ColourRange>& before);

/// The smallest of 1, 2, 5, 10, 20, ... that is at least `least`: a distance of ticks.
std::int64_t roundStep(double least);

/// A sample of the finite values of a tile, for ColourControls::offer().
std::vector<double> sampleOf(const MatrixTile& tile);

} // namespace secateur
