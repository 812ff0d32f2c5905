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
    bands,     ///< the distribution of values at each position: one series per quantile, from minimum to maximum
    histogram, ///< one series with the counts of the bins
    scatter,   ///< points, coloured by FigureSeries::shades or, if there are none, by series
};

/// The lower and the upper end of an axis.
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

/// Half the length of a whisker, in standard errors.
inline constexpr double whiskerErrors = 2;

/// The unit of a point: a head, KV group or neuron of a layer, or a whole layer (index 0).
struct FigureUnit {
    int layer = 0;
    int index = 0;
    auto operator<=>(const FigureUnit&) const = default;
};

/// A series of values: a line of a series figure, a quantile of bands, the counts of a histogram, or points of a
/// scatter. In lines and quantiles, the index of a value is its x coordinate (the layer).
struct FigureSeries {
    std::string label;
    std::vector<double> values; ///< NaN = no value
    std::vector<double> errors; ///< standard error of each value, 0 = exact; empty = all are exact
    bool rightAxis = false;
    std::vector<bool> notSeparated{};  ///< whether the rank of each value is uncertain; may be empty
    std::vector<double> positions{};   ///< scatter: x coordinate of each value
    std::vector<std::string> names{};  ///< scatter: names of the points, for CSV; may be empty
    std::vector<std::size_t> places{}; ///< scatter: index of each point in the source's list of points; may be empty
    std::vector<double> shades{};      ///< scatter: values that Figure::scale maps to colours; may be empty
    std::vector<FigureUnit> units{};   ///< scatter: unit of each point; may be empty
    std::vector<bool> cut{};           ///< scatter: whether a mask cuts each unit, which is then a cross; may be empty
};

/// The mapping from values to colours.
struct ColourScale {
    std::string map = "viridis"; ///< id of a colour map
    bool logarithmic = false;
    double clipPercent = 1; ///< the colours range from this percentile to 100 minus it; 0 = minimum to maximum
    bool operator==(const ColourScale&) const = default;
};

/// The data of a picture, independent of how it is drawn. The window, `plot` and reports draw the same picture.
struct Figure {
    FigureKind kind = FigureKind::heatMap;
    std::string title;
    FigureAxis x;
    FigureAxis y;
    FigureAxis rightY;
    FigureAxis colour; ///< heat map, shades: axis of the colour bar
    Matrix cells;      ///< heat map: row 0 is drawn at the top
    ColourScale scale; ///< heat map, shades: mapping to colours
    std::vector<FigureSeries> series;
    std::vector<double> edges; ///< histogram: edges of the bins along x, one more than counts
    std::string unit;          ///< scatter: name of the units, "head"; empty = layers
    std::string note;          ///< scatter: a line of text above the axes
    std::string caption;       ///< model, metric and data, in a sentence
    std::string command;       ///< the command line that draws the figure
};

/// The label of an axis that shows a result: "gate-norm per head, fold_norm (nats)".
std::string axisLabel(const MetricResult& result);
/// The caption of a figure: "gate-norm of SmolLM2 (llama, 30 layers, 9 heads, 3 KV heads)."
std::string figureCaption(const ModelCard& model, const std::string& what);
/// The name of the units of a scope: "head", "KV group", "neuron"; empty for layers.
std::string unitLabel(Scope scope);

/// A heat map of one result: layers x heads, layers x KV groups, or one column.
Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale);

/// A figure of results over the layers, with a line for each result. A result with prefix lengths has a line for each
/// length. The values of a layer's units are averaged. Their standard errors are averaged too, which is exact if errors
/// are fully correlated and an upper bound otherwise. A line is drawn on the right axis if its largest magnitude is
/// above ten times, or below a tenth of, that of the first line.
Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, bool logarithmic);

/// The estimates in a figure as text: "estimates for 12 of 40 layers; 7 not yet separated". Empty if all values are
/// exact. @param figure figure of kind series
std::string estimatesIn(const Figure& figure);

/// The percentiles of each layer's values in a figure of kind bands: minimum, maximum, median and three pairs around
/// it.
inline constexpr std::array<double, 9> bandPercents{0, 1, 10, 25, 50, 75, 90, 99, 100};

/// Distribution of a neuron metric in each layer. @param quantiles [layers, bandPercents]; NaN = no value
Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, bool logarithmic);
/// Distribution of a neuron metric in one layer. @param layer below the number of layers
Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);

/// The values of a figure as CSV (RFC 4180) with one header line.
std::string toCsv(const Figure& figure);

} // namespace secateur
