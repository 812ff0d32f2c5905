#pragma once

#include "analysis/base/matrix.h"
#include "analysis/figures/value_scale.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <array>
#include <limits>
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
    curves,    ///< lines through points at FigureSeries::positions, in their order; SeriesStyle has other forms
    panels,    ///< heat maps side by side (Figure::panels), with the same rows and one colour bar
    grid,      ///< several figures (Figure::parts) in rows of Figure::gridColumns
    table,     ///< rows and columns of text and numbers (Figure::table)
};

/// How a series of a figure of kind `curves` is drawn.
enum class SeriesStyle {
    line,       ///< points, and a line through them
    points,     ///< points only
    level,      ///< dashed horizontal line at the first value; a point on it if there is a position
    stepsRight, ///< staircase; the height between two points is that of the right one
    stepsLeft,  ///< staircase; the height between two points is that of the left one
    thinLine,   ///< thin pale line without points
    plainLine,  ///< line without points
    dashed,     ///< dashed line without points
    dashDotted, ///< dash-dotted line without points
    boxes,      ///< a box plot at each position (FigureSeries::boxes)
};

enum class PointMark {
    none,
    hollow, ///< drawn as a ring
    failed, ///< has a position, but no value: drawn as a cross on the lower edge
};

/// The lower and the upper end of an axis.
struct AxisRange {
    double lower = 0;
    double upper = 1;
    bool operator==(const AxisRange&) const = default;
};

/// A name at a place of an axis.
struct AxisTick {
    double position = 0; ///< heat map: row or column, from 0; fractions lie between
    std::string name;
};

struct FigureAxis {
    std::string label; ///< quantity and unit: "gate norm", "layer"
    bool logarithmic = false;
    std::optional<AxisRange> range{}; ///< absent = fitted to the values; colour axis: heat maps with a linear scale
    std::vector<std::string> names{}; ///< heat map: names of the rows or columns; empty = counted from 0. Colour axis:
                                      ///< names of the classes; empty = the values are numbers
    std::vector<AxisTick> ticks{};    ///< the only labelled places of the axis; empty = chosen by the painter
};

/// Half the length of a whisker, in standard errors.
inline constexpr double whiskerErrors = 2;

/// The unit of a point: a head, KV group or neuron of a layer, or a whole layer (index 0).
struct FigureUnit {
    int layer = 0;
    int index = 0;
    auto operator<=>(const FigureUnit&) const = default;
};

/// The distribution of repeated values at one position, as a box plot.
struct FigureBox {
    double lower = 0; ///< end of the lower whisker: the lowest value within 1.5 interquartile ranges of the box
    double q1 = 0;
    double median = 0;
    double q3 = 0;
    double upper = 0;             ///< end of the upper whisker
    std::vector<double> outliers; ///< values beyond the whiskers
};
/// @param values at least one; NaN are left out
FigureBox boxOf(std::span<const double> values);

/// A series of values: a line of a series figure, a quantile of bands, the counts of a histogram, or points of a
/// scatter. In lines and quantiles, the index of a value is its x coordinate (the layer).
struct FigureSeries {
    std::string label;
    std::vector<double> values; ///< NaN = no value
    std::vector<double> errors; ///< standard error of each value, 0 = exact; empty = all are exact
    bool rightAxis = false;
    std::vector<bool> notSeparated{}; ///< whether the value's rank among the others is uncertain; or empty
    std::vector<double> positions{};  ///< scatter, curves: x of each value
    std::vector<std::string> names{}; ///< scatter, curves: names of the points, for CSV; or empty
    std::vector<std::size_t>
        places{};                 ///< scatter, curves: indices of the points in the list they were drawn from; or empty
    std::vector<double> shades{}; ///< scatter: values that Figure::scale maps to colours; or empty
    std::vector<FigureUnit> units{};       ///< scatter: the unit of each point; or empty
    std::vector<bool> cut{};               ///< scatter: units that a mask cuts, drawn as crosses; or empty
    bool isHollow = false;                 ///< scatter, curves: the points are drawn as rings
    SeriesStyle style = SeriesStyle::line; ///< curves
    std::vector<double> lows{};            ///< curves: lower edge of the band at each point, NaN = no band; or empty
    std::vector<double> highs{};           ///< curves: upper edge of the band; as many as `lows`
    std::vector<PointMark> marks{};        ///< curves: one for each point; or empty
    std::vector<FigureBox> boxes{};        ///< curves, SeriesStyle::boxes: one for each position; `values` are medians
    std::optional<std::size_t> colour{};   ///< curves: which colour and shape of the palette; absent = the next one
};

/// A heat map among others.
struct FigurePanel {
    std::string title;
    Matrix cells;                     ///< [rows, columns]; NaN = no value
    std::vector<std::string> columns; ///< names of the columns
};

/// A cell of a table: text, or a number.
struct TableCell {
    std::string text{};                                      ///< shown if there is no number
    double value = std::numeric_limits<double>::quiet_NaN(); ///< NaN = a text, or a gap if that is empty
    double error = 0;                                        ///< standard error; 0 = exact or not known
    bool isBest = false;                                     ///< drawn bold
    bool isDoubtful = false; ///< a published value that contradicts another; in brackets
    bool operator==(const TableCell&) const = default;
};

struct TableColumn {
    std::string title;         ///< "Avg. (%)"
    int decimals = 2;          ///< of numbers
    std::string group{};       ///< title above neighbouring columns with an equal group; empty = none
    bool isText = false;       ///< aligned left
    bool hasThousands = false; ///< thousands are separated by commas
};

struct TableRow {
    std::vector<TableCell> cells; ///< one for each column
    bool isPublished = false;     ///< numbers of a paper, beside ours; drawn grey
    bool startsGroup = false;     ///< a rule is drawn above
};

struct FigureTable {
    std::vector<TableColumn> columns;
    std::vector<TableRow> rows;
    std::vector<std::string> notes; ///< sentences below the table: protocols, gaps and the commands that fill them
};

/// A cell of a heat map.
struct FigureCell {
    std::size_t row = 0;
    std::size_t column = 0;
};

/// The data of a picture, independent of how it is drawn. The window, `plot` and reports draw the same picture.
struct Figure {
    FigureKind kind = FigureKind::heatMap;
    std::string title;
    FigureAxis x;
    FigureAxis y;
    FigureAxis rightY;
    FigureAxis colour;                    ///< heat map, shades: the colour bar
    Matrix cells;                         ///< heat map: the values, whatever the scale; row 0 is drawn at the top
    ColourScale scale;                    ///< heat map, shades; its kind is not `automatic`
    std::vector<std::string> cellTexts{}; ///< heat map: a text in each cell, row by row; or empty. The second line is
                                          ///< left out where there is no room
    std::vector<FigurePanel> panels{};    ///< panels: x and y are the axes of each
    std::vector<Figure> parts{};          ///< grid: the figures, row by row; their captions and commands are not used
    std::size_t gridColumns = 1;          ///< grid: figures in a row
    FigureTable table{};                  ///< table
    std::vector<FigureCell> outlined{};   ///< heat map: cells with a frame
    bool rowBars = false;              ///< heat map: a bar beside each row, of its mean or of the shares of the classes
    std::optional<PruningMask> mask{}; ///< heat map of heads, series, bands: the mask whose cuts are marked
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

/// "colours=viridis:scale=auto:clip=1": a colour scale as options of a figure.
std::string colourOptions(const ColourScale& scale);
/// The label of a heat map's colour bar: that of the values, with the name of the scale.
std::string colourBarLabel(const Figure& figure);

/// Heat map of one result: layers x heads (or KV groups, or one column).
Figure headMap(const ModelCard& model, const MetricResult& result, const ColourScale& scale);

/// One line per result over the layers; for a result with several prefix lengths, one line for each. The values of a
/// layer's units are averaged. Their standard errors are averaged too: exact if errors are fully correlated, else an
/// upper bound. A line whose largest magnitude is above ten times, or below a tenth of, the first line's has the right
/// axis. @param scale of both axes; `automatic` is decided for each
Figure layerSeries(const ModelCard& model, std::span<const MetricResult> results, ScaleKind scale);

/// The estimates in a figure as text: "estimates for 12 of 40 layers; 7 not yet separated". Empty if all values are
/// exact. @param figure figure of kind series
std::string estimatesIn(const Figure& figure);

/// The percentiles of each layer's values in a figure of kind bands: minimum, maximum, median and three pairs around
/// it.
inline constexpr std::array<double, 9> bandPercents{0, 1, 10, 25, 50, 75, 90, 99, 100};

/// Distribution of a neuron metric in each layer. @param quantiles [layers, bandPercents]; NaN = no value
Figure neuronBands(const ModelCard& model, const MetricResult& result, const Matrix& quantiles, ScaleKind scale);
/// Distribution of a neuron metric in one layer. @param layer below the number of layers
Figure neuronHistogram(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic);

/// The values of a figure as CSV (RFC 4180) with one header line.
std::string toCsv(const Figure& figure);

} // namespace secateur
