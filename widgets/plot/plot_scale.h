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

/// Ids in menu order: viridis, cividis, magma, and the diverging vik.
QStringList colourMapIds();
/// The colour map with this id; viridis for an unknown id.
const ColourMap& colourMap(const QString& id);
/// Whether a map is for signed values, with 0 in the middle.
bool isDiverging(const QString& id);

/// The mapping from values to the colours of a map.
class ColourRange {
public:
    /// From 0 to 1 in viridis.
    ColourRange() = default;
    /// Fits the ends to the finite values, clipped as the scale states. A logarithmic scale becomes linear if no value
    /// is positive; a diverging map is centred on 0. For percentiles and shares of a layer, `values` are those of
    /// onScale().
    ColourRange(std::span<const double> values, const ColourScale& scale);

    /// A mapping from classes, counted from 0, to one colour for each.
    static ColourRange ofClasses(const QStringList& names);

    double lower() const { return m_lower; }
    double upper() const { return m_upper; }
    bool isLogarithmic() const { return m_logarithmic; }
    /// Whether there are values below lower(), or above upper(); they have the colours of the ends.
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

/// Whether there are values on both sides of 0.
bool isSigned(std::span<const double> values);

/// The range of an axis for series: from minimum to maximum with a margin, whiskers included; from 0 if the minimum is
/// close to 0.
/// @param right true = series of the right axis, false = of the left axis
AxisRange fittingRange(const std::vector<FigureSeries>& series, bool right, bool logarithmic);

/// The range of an axis for a scatter: from minimum to maximum with a margin.
/// @param along FigureSeries::positions for x, FigureSeries::values for y
AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::*along,
                     bool logarithmic);

/// Keeps an axis steady while its values change: returns the shown range unless the new values exceed it, or fill only
/// a small part of it. An end that moves outwards gets an extra margin.
AxisRange steadyRange(const AxisRange& shown, const AxisRange& fitting, bool logarithmic);

} // namespace secateur
