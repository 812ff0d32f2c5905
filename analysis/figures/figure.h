#pragma once

#include "analysis/base/matrix.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

enum class FigureKind {
    heatMap,
    series,
    bands,     ///< distribution of the values at each position: one series per quantile, from minimum to maximum
    histogram, ///< one series: the counts of the bins
    scatter,   ///< points, coloured by FigureSeries::shades or else by series
};

/// The ends of an axis.
struct AxisRange {
    double lower = 0;
    double upper = 1;
    bool operator==(const AxisRange&) const = default;
};

struct FigureAxis {
    std::string label; ///< quantity and unit: "gate norm", "layer"
    bool logarithmic = false;
    std::optional<AxisRange> range{}; ///< absent = fitted to the values
    std::vector<std::string> names{}; ///< heat map: names of the rows or columns; empty = counted from 0. Colour axis:
                                      ///< names of the classes; empty = the values are numbers
};

/// Half the length of a whisker in standard errors.
inline constexpr double whiskerErrors = 2;

/// The unit of a point: a head, KV group or neuron of a layer, or a whole layer (index 0).
struct FigureUnit {
    int layer = 0;
    int index = 0;
    auto operator<=>(const FigureUnit&) const = default;
};

/// A line of a series figure, a quantile of bands, the counts of a histogram, or points of a scatter. In the first two,
/// the index of a value is its x (the layer).
struct FigureSeries {
    std::string label;
    std::vector<double> values; ///< NaN = a gap
    std::vector<double> errors; ///< standard errors, 0 = exact; or empty
    bool rightAxis = false;
    std::vector<bool> notSeparated{};  ///< whether the value's rank among the others is uncertain; or empty
    std::vector<double> positions{};   ///< scatter: x of each value
    std::vector<std::string> names{};  ///< scatter: names of the points, for CSV; or empty
    std::vector<std::size_t> places{}; ///< scatter: indices of the points in the list they were drawn from; or empty
    std::vector<double> shades{};      ///< scatter: values that Figure::scale maps to colours; or empty
    std::vector<FigureUnit> units{};   ///< scatter: the unit of each point; or empty
    std::vector<bool> cut{};           ///< scatter: units that a mask cuts, drawn as crosses; or empty
    bool isHollow = false;             ///< scatter: the points are drawn as rings
};

/// The mapping from values to colours.
struct ColourScale {
    std::string map = "viridis"; ///< id in the colour map table
    bool logarithmic = false;
    double clipPercent = 1; ///< the colours span percentiles clipPercent to 100 - clipPercent; 0 = minimum to maximum
    bool operator==(const ColourScale&) const = default;
};

/// All data of a picture, independent of how it is drawn: the window, `plot` and reports draw it alike.
struct Figure {
    FigureKind kind = FigureKind::heatMap;
    std::string title;
    FigureAxis x;
    FigureAxis y;
    FigureAxis rightY;
    FigureAxis colour; ///< heat map, shades: the colour bar
    Matrix cells;      ///< heat map: row 0 is drawn at the top
    ColourScale scale; ///< heat map, shades
    std::vector<FigureSeries> series;
    std::vector<double> edges; ///< histogram: edges of the bins along x, one more than counts
    std::string unit;          ///< scatter: kind of the points' units, "head"; empty = layers
    std::string note;          ///< scatter: a line of text above the axes
    std::string caption;       ///< model, metric and data, in a sentence
    std::string command;       ///< the command line that draws it again
};

/// "gate-norm per head, fold_norm (nats)": the label of an axis that shows a result.
std::string axisLabel(const MetricResult& result);
/// "gate-norm of SmolLM2 (llama, 30 layers, 9 heads, 3 KV heads)."
std::string figureCaption(const ModelCard& model, const std::string& what);
/// "head", "KV group", "neuron"; empty for layers.
std::string unitLabel(Scope scope);

/// Heat map of one result: layers x heads (or KV groups, or one column).
Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale);

/// One line per result over the layers; for a result with several prefix lengths, one line for each. The values of a
/// layer's units are averaged. Their standard errors are averaged too: exact if errors are fully correlated, else an
/// upper bound. A line whose largest magnitude is above ten times, or below a tenth of, the first line's has the right
/// axis.
Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, bool logarithmic);

/// "estimates for 12 of 40 layers; 7 not yet separated". Empty if all values are exact. @param figure of kind series
std::string estimatesIn(const Figure& figure);

/// Percentiles of each layer's values in a figure of kind bands: minimum, maximum, median and three bands around it.
inline constexpr std::array<double, 9> bandPercents{0, 1, 10, 25, 50, 75, 90, 99, 100};

/// Distribution of a neuron metric in each layer. @param quantiles [layers, bandPercents]; NaN = no value
Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, bool logarithmic);
/// Distribution of a neuron metric in one layer. @param layer below the number of layers
Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);

/// The numbers behind a figure as RFC 4180 CSV with one header line.
std::string toCsv(const Figure& figure);

} // namespace secateur
