#pragma once

#include "analysis/figures/figure.h"

#include <QColor>
#include <QString>
#include <QStringList>

#include <array>
#include <span>
#include <vector>

namespace secateur {

/// 256 opaque colours from low to high. The maps are perceptually uniform. The data and their licences are in
/// resources/colour_maps.
using ColourMap = std::array<QRgb, 256>;

/// Ids in menu order: viridis, cividis, magma, and the diverging vik.
QStringList colourMapIds();
/// The colour map with this id; viridis for an unknown id.
const ColourMap& colourMap(const QString& id);
/// Whether a colour map is for signed values, with 0 in its middle.
bool isDiverging(const QString& id);

/// Maps values to the colours of a colour map.
class ColourRange {
public:
    /// The range from 0 to 1 in the colour map viridis.
    ColourRange() = default;
    /// Fits the ends to the finite values, clipped as the scale states. A logarithmic scale becomes linear if no value
    /// is positive; a diverging map is centred on 0. For percentiles and shares of a layer, `values` are those of
    /// onScale().
    ColourRange(std::span<const double> values, const ColourScale& scale);

    /// Maps classes, counted from 0, to one colour each.
    static ColourRange ofClasses(const QStringList& names);

    double lower() const { return m_lower; }
    double upper() const { return m_upper; }
    bool isLogarithmic() const { return m_logarithmic; }
    /// Whether there are values below lower() or above upper(). They have the colours of the ends.
    bool hasBelow() const { return m_hasBelow; }
    bool hasAbove() const { return m_hasAbove; }

    /// The colour of a value. @param value not NaN
    QRgb colour(double value) const;
    /// The colour at a position in the range. @param position 0 = lower end, 1 = upper end
    QRgb colourAt(double position) const;

private:
    QString m_map = "viridis";
    std::vector<QRgb> m_classes; ///< colours of classes; empty = values are numbers
    double m_lower = 0;
    double m_upper = 1;
    bool m_logarithmic = false;
    bool m_hasBelow = false;
    bool m_hasAbove = false;
};

/// Whether there are values on both sides of 0.
bool isSigned(std::span<const double> values);

/// The range of an axis of a series figure: from minimum to maximum with a margin, including whiskers. It begins at 0
/// if the minimum is close to 0.
/// @param right true = the range of the right axis, false = of the left axis
AxisRange fittingRange(const std::vector<FigureSeries>& series, bool right, bool logarithmic);

/// The range of an axis of a scatter plot: from minimum to maximum with a margin.
/// @param along FigureSeries::positions for the x axis, FigureSeries::values for the y axis
AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::* along,
                     bool logarithmic);

/// Keeps an axis steady while its values change. Returns `shown` unless the new values exceed it or fill only a small
/// part of it. An end that moves outwards gets an extra margin.
AxisRange steadyRange(const AxisRange& shown, const AxisRange& fitting, bool logarithmic);

} // namespace secateur
