#include "widgets/weights/matrix_tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

constexpr std::size_t sampledValues = 60'000;
constexpr std::size_t shades = 1024;

/// Whether the colours of one range also show the values for which another range was made.
bool suits(const ColourRange& before, const ColourRange& fresh) {
    constexpr double most = 1.6;
    const double had = before.upper() - before.lower();
    const double needed = fresh.upper() - fresh.lower();
    const bool isOfOneKind =
        before.isLogarithmic() == fresh.isLogarithmic() && (before.lower() < 0) == (fresh.lower() < 0);
    return isOfOneKind && needed < had * most && had < needed * most;
}

/// The colours of a range, looked up by value.
class ShadeTable {
public:
    explicit ShadeTable(const ColourRange& range)
        : m_isLogarithmic(range.isLogarithmic())
        , m_lower(transformed(range.lower()))
        , m_factor(static_cast<double>(shades) / std::max(transformed(range.upper()) - m_lower, 1e-300)) {
        for (std::size_t i = 0; i < shades; ++i)
            m_colours[i] = range.colourAt((static_cast<double>(i) + 0.5) / static_cast<double>(shades));
    }

    QRgb operator()(float value) const {
        if (std::isnan(value))
            return qRgba(0, 0, 0, 0);
        const double place = (transformed(static_cast<double>(value)) - m_lower) * m_factor;
        return m_colours[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(shades - 1)))];
    }

private:
    double transformed(double value) const {
        return !m_isLogarithmic ? value : value > 0 ? std::log(value) : -std::numeric_limits<double>::infinity();
    }

    bool m_isLogarithmic;
    double m_lower;
    double m_factor;
    std::array<QRgb, shades> m_colours{};
};

} // namespace

bool CellWindow::contains(MatrixCell cell) const {
    return cell.row >= row && cell.row < row + rows && cell.column >= column && cell.column < column + columns;
}

bool CellWindow::contains(const CellWindow& other) const {
    return other.row >= row && other.row + other.rows <= row + rows && other.column >= column &&
           other.column + other.columns <= column + columns;
}

std::optional<float> MatrixTile::at(MatrixCell cell) const {
    if (isCoarse || !isExact() || !window.contains(cell))
        return std::nullopt;
    const auto index = (cell.row - window.row) * columns + cell.column - window.column;
    return values[static_cast<std::size_t>(index)];
}

QRectF MatrixTile::extent() const {
    return {static_cast<double>(window.column), static_cast<double>(window.row),
            static_cast<double>(columns * columnsPerBlock), static_cast<double>(rows * rowsPerBlock)};
}

std::int64_t roundStep(double least) {
    std::int64_t step = 1;
    for (int i = 0; static_cast<double>(step) < least; ++i)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

std::vector<double> sampleOf(const MatrixTile& tile) {
    const std::size_t step = std::max<std::size_t>(1, tile.values.size() / sampledValues) | 1;
    std::vector<double> sample;
    for (std::size_t i = 0; i < tile.values.size(); i += step)
        if (std::isfinite(tile.values[i]))
            sample.push_back(static_cast<double>(tile.values[i]));
    return sample;
}

void paintTile(MatrixTile& tile, const ColourScale& scale, const std::optional<ColourRange>& before) {
    tile.range = ColourRange(sampleOf(tile), scale);
    if (before && suits(*before, tile.range))
        tile.range = *before;
    const ShadeTable colourOf(tile.range);
    const bool hasGap = std::ranges::any_of(tile.values, [](float value) { return std::isnan(value); });
    tile.picture = QImage(tile.columns, tile.rows, hasGap ? QImage::Format_ARGB32_Premultiplied : QImage::Format_RGB32);
    std::size_t index = 0;
    for (int row = 0; row < tile.rows; ++row) {
        auto* line = reinterpret_cast<QRgb*>(tile.picture.scanLine(row));
        for (int column = 0; column < tile.columns; ++column, ++index) {
            const bool isOdd = !tile.notFinite.empty() && tile.notFinite[index] != 0;
            line[column] = isOdd ? notFiniteColour : colourOf(tile.values[index]);
        }
    }
}

} // namespace secateur
