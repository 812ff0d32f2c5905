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
    bands,     ///< distribution of the values at each position: series of quantiles, from minimum to maximum
    histogram, ///< one series of counts between edges
    scatter,   ///< points: each series in a colour of its own
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

/// What a point stands for: a head, a KV group or a neuron of a layer, or a layer (index 0).
struct FigureUnit {
    int layer = 0;
    int index = 0;
    auto operator<=>(const FigureUnit&) const = default;
};

/// One line of a series figure, or one quantile of bands; x is the position (layer).
struct FigureSeries {
    std::string label;
    std::vector<double> values; ///< NaN = a gap
    std::vector<double> errors; ///< standard errors, 0 = exact; or empty
    bool rightAxis = false;
    std::vector<bool> notSeparated{};  ///< estimates whose rank among the others is not certain; or empty
    std::vector<double> positions{};   ///< scatter: x of each value
    std::vector<std::string> names{};  ///< scatter: names of the points, for CSV; or empty
    std::vector<std::size_t> places{}; ///< scatter: indices of the points in their source list; or empty
    std::vector<double> shades{};      ///< scatter: values that Figure::scale maps to colours; or empty
    std::vector<FigureUnit> units{};   ///< scatter: the unit of each point; or empty
    std::vector<bool> cut{};           ///< scatter: units that a mask cuts, drawn as crosses; or empty
};

/// The mapping from values to colours.
struct ColourScale {
    std::string map = "viridis"; ///< id in the colour map table
    bool logarithmic = false;
    double clipPercent = 1; ///< range from this percentile to 100 minus it; 0 = from minimum to maximum
    bool operator==(const ColourScale&) const = default;
};

/// A picture as a value: the window, `plot` and reports draw it alike.
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
    std::string unit;          ///< scatter: kind of its units, "head"; empty = layers
    std::string note;          ///< scatter: a line above the axes
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

/// One line per result over the layers, or one per prefix length of the result. A result with several units per layer
/// is averaged over them. Its standard errors are averaged too: exact for fully correlated errors, else an upper bound.
/// A result whose largest magnitude differs from the first one's by more than ten times has the right axis.
Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, bool logarithmic);

/// "estimates for 12 of 40 layers; 7 not yet separated", of a series figure; empty when all values are exact.
std::string estimatesIn(const Figure& figure);

/// Percentiles that bands show of each layer: minimum, maximum, median and three bands around it.
inline constexpr std::array<double, 9> bandPercents{0, 1, 10, 25, 50, 75, 90, 99, 100};

/// Distribution of a neuron metric in each layer. @param quantiles [layers, bandPercents]; NaN = no value
Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, bool logarithmic);
/// Distribution of a neuron metric in one layer. @param layer below the number of layers
Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);

/// The numbers behind a figure as RFC 4180 CSV with one header line.
std::string toCsv(const Figure& figure);

} // namespace secateur
