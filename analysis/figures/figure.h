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
    bands,     ///< how values are distributed at each position: series of quantiles, from the least to the greatest
    histogram, ///< one series of counts between edges
    scatter,   ///< points: each series in a colour of its own
};

/// What an axis shows, from end to end.
struct AxisRange {
    double lower = 0;
    double upper = 1;
    bool operator==(const AxisRange&) const = default;
};

struct FigureAxis {
    std::string label; ///< quantity and unit: "gate norm", "layer"
    bool logarithmic = false;
    std::optional<AxisRange> range{}; ///< absent = what fits the values
    std::vector<std::string> names{}; ///< heat map: of the rows or columns; empty = they are counted from 0. Of the
                                      ///< colours: of the classes that the values are; empty = they are numbers
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
    std::vector<bool> notSeparated{};  ///< estimates that may change places with another value; or empty
    std::vector<double> positions{};   ///< scatter: along x, one for each value
    std::vector<std::string> names{};  ///< scatter: of the points, in CSV; or empty
    std::vector<std::size_t> places{}; ///< scatter: of what the points stand for, in the list it comes from; or empty
    std::vector<double> shades{};      ///< scatter: numbers that become colours by Figure::scale; or empty
    std::vector<FigureUnit> units{};   ///< scatter: of the model, in their order; or empty
    std::vector<bool> cut{};           ///< scatter: what a mask cuts, a cross each; or empty
};

/// How numbers become colours.
struct ColourScale {
    std::string map = "viridis"; ///< id in the colour map table
    bool logarithmic = false;
    double clipPercent = 1; ///< range from this percentile to its mirror; 0 = from the least to the greatest value
    bool operator==(const ColourScale&) const = default;
};

/// A picture as a value: drawn alike in the window, in `plot` and in the report.
struct Figure {
    FigureKind kind = FigureKind::heatMap;
    std::string title;
    FigureAxis x;
    FigureAxis y;
    FigureAxis rightY;
    FigureAxis colour; ///< heat map, shades: what the colour bar measures
    Matrix cells;      ///< heat map: row 0 is drawn at the top
    ColourScale scale; ///< heat map, shades
    std::vector<FigureSeries> series;
    std::vector<double> edges; ///< histogram: of the bins along x, one more than there are counts
    std::string unit;          ///< scatter: what its units are, "head"; empty = layers
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

/// Layers x heads (or KV groups, or one column) of one result. Also what the window draws.
Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale);

/// One line per result over the layers, or one for each length that it was measured over; results of several cells per
/// layer are averaged over them, and so are their standard errors, which is right for errors that go together and too
/// much for others. A result whose range is more than ten times away from the first one's goes to the right axis.
Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, bool logarithmic);

/// "estimates for 12 of 40 layers; 7 not yet separated", of the positions of a series figure; empty when all are exact.
std::string estimatesIn(const Figure& figure);

/// What bands show of each layer: least, greatest, median, and three bands around it.
inline constexpr std::array<double, 9> bandPercents{0, 1, 10, 25, 50, 75, 90, 99, 100};

/// How a neuron metric is distributed in each layer. @param quantiles [layers, bandPercents]; NaN = no value
Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, bool logarithmic);
/// How it is distributed in one layer. @param layer one that the model has
Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);

/// The numbers behind a figure as RFC 4180 CSV with one header line.
std::string toCsv(const Figure& figure);

} // namespace secateur
