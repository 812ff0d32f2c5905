#pragma once

#include "analysis/figures/figure.h"

#include <QColor>
#include <QString>
#include <QStringList>

#include <array>
#include <span>
#include <vector>

namespace secateur {

/// 256 opaque colours from low to high, perceptually uniform. Data and their licences: resources/colour_maps.
using ColourMap = std::array<QRgb, 256>;

/// Ids in the order of the menu: viridis, cividis, magma; then the diverging one.
QStringList colourMapIds();
/// viridis when there is none of that id
const ColourMap& colourMap(const QString& id);
/// For signed values: its middle is 0.
bool isDiverging(const QString& id);

/// Where numbers lie between the two ends of a colour map.
class ColourRange {
public:
    /// From 0 to 1 in viridis.
    ColourRange() = default;
    /// Takes the ends from the finite values as the scale says. A logarithmic scale falls back to a linear one when no
    /// value is positive; a diverging map puts 0 in its middle.
    ColourRange(std::span<const double> values, const ColourScale& scale);

    /// Of classes, counted from 0, with a colour of its own each.
    static ColourRange ofClasses(const QStringList& names);

    double lower() const { return m_lower; }
    double upper() const { return m_upper; }
    bool isLogarithmic() const { return m_logarithmic; }
    /// Whether values lie outside, drawn in the end colours.
    bool hasBelow() const { return m_hasBelow; }
    bool hasAbove() const { return m_hasAbove; }

    /// @param value not NaN
    QRgb colour(double value) const;
    /// @param position 0 = lower end, 1 = upper end
    QRgb colourAt(double position) const;

private:
    QString m_map = "viridis";
    std::vector<QRgb> m_classes; ///< empty = numbers
    double m_lower = 0;
    double m_upper = 1;
    bool m_logarithmic = false;
    bool m_hasBelow = false;
    bool m_hasAbove = false;
};

/// Whether a logarithmic scale is worth offering: all values positive and spread over 100 times or more.
bool spreadsWidely(std::span<const double> values);

/// Whether there are values on both sides of 0.
bool isSigned(std::span<const double> values);

/// From a little under the least to a little over the greatest value, whiskers included; from 0 where that is not far.
/// @param right the series of the right axis rather than those of the left one
AxisRange fittingRange(const std::vector<FigureSeries>& series, bool right, bool logarithmic);

/// Of a scatter: from a little before the first to a little behind the last point.
/// @param along positions or values
AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::*along,
                     bool logarithmic);

/// Keeps an axis still while its values change: what is shown, unless the new values leave it or would be small in it.
/// An end that moves outwards makes room for more.
AxisRange steadyRange(const AxisRange& shown, const AxisRange& fitting, bool logarithmic);

} // namespace secateur
