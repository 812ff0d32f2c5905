#include "backends/json/figure_json.h"

#include "analysis/base/matrix.h"
#include "analysis/figures/value_scale.h"
#include "backends/json/json_fields.h"

#include <span>
#include <utility>

namespace secateur {

namespace {

const char* kindName(FigureKind kind) {
    switch (kind) {
    case FigureKind::heatMap:
        return "heat_map";
    case FigureKind::series:
        return "series";
    case FigureKind::bands:
        return "bands";
    case FigureKind::histogram:
        return "histogram";
    case FigureKind::scatter:
        return "scatter";
    case FigureKind::curves:
        return "curves";
    case FigureKind::panels:
        return "panels";
    }
    return "";
}

/// Adds the unit of each point of a scatter plot.
void addUnits(OrderedJson& line, const Figure& figure, const FigureSeries& series) {
    line["layers"] = OrderedJson::array();
    for (const FigureUnit& unit : series.units)
        line["layers"].push_back(unit.layer);
    if (!figure.unit.empty()) {
        line["unit"] = figure.unit;
        line["units"] = OrderedJson::array();
        for (const FigureUnit& unit : series.units)
            line["units"].push_back(unit.index);
    }
    if (!series.cut.empty())
        line["cut"] = series.cut;
}

OrderedJson numbers(std::span<const double> values) {
    OrderedJson list = OrderedJson::array();
    for (const double value : values)
        list.push_back(finiteOrNull(value));
    return list;
}

OrderedJson matrixRows(const Matrix& cells) {
    OrderedJson list = OrderedJson::array();
    for (std::size_t row = 0; row < cells.rows(); ++row)
        list.push_back(numbers(cells.row(row)));
    return list;
}

const char* styleName(SeriesStyle style) {
    switch (style) {
    case SeriesStyle::line:
        return "line";
    case SeriesStyle::points:
        return "points";
    case SeriesStyle::level:
        return "level";
    case SeriesStyle::stepsRight:
        return "steps_right";
    case SeriesStyle::stepsLeft:
        return "steps_left";
    case SeriesStyle::thinLine:
        return "thin_line";
    case SeriesStyle::plainLine:
        return "plain_line";
    }
    return "";
}

/// Adds what only series of curves have.
void addCurve(OrderedJson& line, const FigureSeries& series) {
    line["style"] = styleName(series.style);
    if (!series.lows.empty()) {
        line["lowest"] = numbers(series.lows);
        line["highest"] = numbers(series.highs);
    }
    if (series.marks.empty())
        return;
    line["marks"] = OrderedJson::array();
    for (const PointMark mark : series.marks)
        line["marks"].push_back(mark == PointMark::failed ? "failed" : mark == PointMark::hollow ? "clamped" : "none");
}

OrderedJson seriesFields(const Figure& figure, const FigureSeries& series) {
    OrderedJson line{
        {"label", series.label}, {"axis", series.rightAxis ? "right" : "left"}, {"values", numbers(series.values)}};
    if (!series.errors.empty())
        line["standard_error"] = numbers(series.errors);
    if (!series.positions.empty())
        line["positions"] = numbers(series.positions);
    if (!series.names.empty())
        line["names"] = series.names;
    if (figure.kind == FigureKind::curves)
        addCurve(line, series);
    if (!series.units.empty())
        addUnits(line, figure, series);
    return line;
}

OrderedJson figureAxis(const FigureAxis& axis) {
    return {{"label", axis.label}, {"logarithmic", axis.logarithmic}};
}

void addHeatMap(OrderedJson& document, const Figure& figure) {
    document["colour"] = figureAxis(figure.colour);
    document["colour"]["scale"] = name(figure.scale.kind);
    document["colour"]["map"] = figure.scale.map;
    document["colour"]["clip_percent"] = figure.scale.clipPercent;
    if (!figure.colour.names.empty())
        document["colour"]["classes"] = figure.colour.names;
    document["cells"] = matrixRows(figure.cells);
    if (!figure.cellTexts.empty())
        document["texts"] = figure.cellTexts;
    for (const auto& [key, axis] : {std::pair("x", &figure.x), std::pair("y", &figure.y)})
        if (!axis->names.empty())
            document[key]["names"] = axis->names;
}

void addPanels(OrderedJson& document, const Figure& figure) {
    document["colour"] = figureAxis(figure.colour);
    document["panels"] = OrderedJson::array();
    for (const FigurePanel& panel : figure.panels)
        document["panels"].push_back(
            {{"title", panel.title}, {"columns", panel.columns}, {"cells", matrixRows(panel.cells)}});
}

void addSeries(OrderedJson& document, const Figure& figure) {
    if (figure.kind == FigureKind::histogram)
        document["edges"] = numbers(figure.edges);
    else
        document["right_y"] = figureAxis(figure.rightY);
    if (!figure.note.empty())
        document["note"] = figure.note;
    document["series"] = OrderedJson::array();
    for (const FigureSeries& series : figure.series)
        document["series"].push_back(seriesFields(figure, series));
}

} // namespace

std::string figureJson(const Figure& figure) {
    OrderedJson document{{"kind", kindName(figure.kind)},
                         {"title", figure.title},
                         {"caption", figure.caption},
                         {"command", figure.command},
                         {"x", figureAxis(figure.x)},
                         {"y", figureAxis(figure.y)}};
    const bool hasPanels = figure.kind == FigureKind::panels;
    const bool hasCells = figure.kind == FigureKind::heatMap;
    hasPanels ? addPanels(document, figure) : hasCells ? addHeatMap(document, figure) : addSeries(document, figure);
    if ((hasPanels || hasCells) && !figure.note.empty())
        document["note"] = figure.note;
    return jsonText(document);
}

} // namespace secateur
