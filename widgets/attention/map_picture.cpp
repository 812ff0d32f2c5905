#include "widgets/attention/map_picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

namespace secateur {

bool covers(const MapWindow& outer, const MapWindow& inner) {
    const auto contains = [](int first, int count, int other, int others) {
        return first <= other && other + others <= first + count;
    };
    return contains(outer.firstQuery, outer.queries, inner.firstQuery, inner.queries) &&
           contains(outer.firstKey, outer.keys, inner.firstKey, inner.keys);
}

MapWindow windowOf(const MapView& view, const QSize& pixels, int side, double margin) {
    MapWindow window;
    while (2 * window.cells <= view.cellsPerPixel)
        window.cells *= 2;
    const auto visible = [&](double first, int count) {
        const double extent = count * view.cellsPerPixel;
        const auto whole = [&](double place) {
            return std::clamp(static_cast<int>(place / window.cells) * window.cells, 0, side);
        };
        const int begin = whole(first - margin * extent);
        const int end = std::min(whole(first + (1 + margin) * extent) + window.cells, side);
        return std::pair(begin, end - begin);
    };
    std::tie(window.firstKey, window.keys) = visible(view.first.x(), pixels.width());
    std::tie(window.firstQuery, window.queries) = visible(view.first.y(), pixels.height());
    return window;
}

void paintCells(QImage& picture, const MapView& view, const std::vector<float>& values, const MapWindow& window,
                const ColourRange& range, QRgb absent) {
    const auto cellOf = [&](double first, int pixel, int begin, int count) {
        const double place = std::floor(first + (pixel + 0.5) * view.cellsPerPixel) - begin;
        return place >= 0 && place < count ? static_cast<int>(place) / window.cells : -1;
    };
    std::vector<int> columns(static_cast<std::size_t>(picture.width()));
    for (int x = 0; x < picture.width(); ++x)
        columns[static_cast<std::size_t>(x)] = cellOf(view.first.x(), x, window.firstKey, window.keys);
    int before = -1;
    for (int y = 0; y < picture.height(); ++y) {
        const int row = cellOf(view.first.y(), y, window.firstQuery, window.queries);
        if (row < 0)
            continue;
        auto* line = reinterpret_cast<QRgb*>(picture.scanLine(y));
        const auto* above = reinterpret_cast<const QRgb*>(picture.constScanLine(std::max(y - 1, 0)));
        const float* cells = values.data() + static_cast<std::ptrdiff_t>(row) * window.columns();
        for (int x = 0, last = -1; x < picture.width(); ++x) {
            const int column = columns[static_cast<std::size_t>(x)];
            if (column >= 0 && row == before)
                line[x] = above[x];
            else if (column >= 0 && column == last)
                line[x] = line[x - 1];
            else if (column >= 0)
                line[x] = cells[column] > 0 ? range.colour(static_cast<double>(cells[column])) : absent;
            last = column;
        }
        before = row;
    }
}

} // namespace secateur
