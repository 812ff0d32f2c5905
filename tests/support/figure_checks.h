#pragma once

#include "analysis/base/error.h"
#include "analysis/figures/figure.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace secateur::test {

/// Whether a number equals another one up to rounding.
inline bool isNear(double found, double expected) {
    return std::abs(found - expected) <= 1e-12 * std::max(1.0, std::abs(expected));
}

/// Whether all numbers are within a tolerance; NaN equals NaN.
inline bool areNear(const std::vector<double>& found, const std::vector<double>& expected, double tolerance = 1e-9) {
    return std::ranges::equal(found, expected, [&](double a, double b) {
        return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
    });
}

/// The first series whose label begins with a text. @throws Error if there is none
inline const FigureSeries& seriesNamed(const Figure& figure, const std::string& beginning) {
    for (const FigureSeries& series : figure.series)
        if (series.label.starts_with(beginning))
            return series;
    throw Error("is missing in the figure", beginning);
}

/// The first row whose first cells have these texts. @throws Error if there is none
inline const TableRow& rowWith(const FigureTable& table, const std::vector<std::string>& texts) {
    const auto isWanted = [&](const TableRow& row) {
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (row.cells.at(i).text != texts[i])
                return false;
        return true;
    };
    const auto found = std::ranges::find_if(table.rows, isWanted);
    if (found == table.rows.end())
        throw Error("is missing in the table", texts.front());
    return *found;
}

/// The index of the column with a title. @throws Error if there is none
inline std::size_t columnOf(const FigureTable& table, const std::string& title) {
    const auto found = std::ranges::find(table.columns, title, &TableColumn::title);
    if (found == table.columns.end())
        throw Error("is missing in the table", title);
    return static_cast<std::size_t>(found - table.columns.begin());
}

} // namespace secateur::test
