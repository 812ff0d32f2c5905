#pragma once

#include "analysis/base/matrix.h"

#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// How values are placed along a colour bar or an axis.
enum class ScaleKind {
    automatic, ///< linear or logarithmic, whichever uses the range better: see usedScale()
    linear,
    logarithmic,
    rank,        ///< percentile among all values of the model
    withinLayer, ///< share of the largest value of the layer
};

/// "auto", "linear", "log", "rank" or "layer": the name in options of figures, and in sessions.
std::string_view name(ScaleKind kind);
/// The kind with this name; `otherwise` for an unknown name.
ScaleKind scaleNamed(std::string_view name, ScaleKind otherwise = ScaleKind::automatic);

/// The mapping from values to colours.
struct ColourScale {
    std::string map = "viridis"; ///< id in the colour map table
    ScaleKind kind = ScaleKind::linear;
    double clipPercent = 1; ///< the colours span percentiles clipPercent to 100 - clipPercent; 0 = minimum to maximum
    bool operator==(const ColourScale&) const = default;
};

/// Whether a scale can show all of these values: a logarithmic one needs positive values; shares of a layer need values
/// of at least 0 that are not all 0.
bool suits(ScaleKind kind, std::span<const double> values);

/// The scale with which values are drawn; never `automatic`. `automatic` becomes logarithmic if all values are positive
/// and three quarters of them are in the lowest quarter of the linear range; otherwise linear. A logarithmic scale
/// becomes linear if no value is positive, and shares of a layer if they do not suit the values.
/// @param clipPercent the linear range spans percentiles clipPercent to 100 - clipPercent
ScaleKind usedScale(ScaleKind kind, std::span<const double> values, double clipPercent = 0);

/// The numbers on the axis for values in rows, one row per layer: percentiles for `rank`, from 0 to 100, where equal
/// values share the mean of theirs; shares for `withinLayer`, from 0 to 1; otherwise the values. NaN stays NaN.
Matrix onScale(const Matrix& values, ScaleKind kind);

/// The value that separates the lowest `percent` % of the values from the others; infinite below the first and above
/// the last.
double valueAtPercentile(std::span<const double> values, double percent);
/// Percentage of the finite values that are at most `value`. NaN if there are none.
double percentUpTo(std::span<const double> values, double value);

/// A label followed by the name of the scale, unless that is linear: "gate-norm per head, log scale".
std::string scaledLabel(const std::string& label, ScaleKind kind);

} // namespace secateur
