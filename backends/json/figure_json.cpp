#include "backends/json/figure_json.h"

#include "analysis/base/matrix.h"
#include "analysis/figures/value_scale.h"
#include "backends/json/json_fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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
    case FigureKind::grid:
        return "grid";
    case FigureKind::table:
        return "table";
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
    case SeriesStyle::dashed:
        return "dashed";
    case SeriesStyle::dashDotted:
        return "dash_dotted";
    case SeriesStyle::boxes:
        return "boxes";
    }
    return "";
}

OrderedJson boxes(const std::vector<FigureBox>& all) {
    OrderedJson list = OrderedJson::array();
    for (const FigureBox& box : all)
        list.push_back({{"lower_whisker", finiteOrNull(box.lower)},
                        {"first_quartile", finiteOrNull(box.q1)},
                        {"median", finiteOrNull(box.median)},
                        {"third_quartile", finiteOrNull(box.q3)},
                        {"upper_whisker", finiteOrNull(box.upper)},
                        {"outliers", numbers(box.outliers)}});
    return list;
}

/// Adds what only series of curves have.
void addCurve(OrderedJson& line, const FigureSeries& series) {
    line["style"] = styleName(series.style);
    if (!series.lows.empty()) {
        line["lowest"] = numbers(series.lows);
        line["highest"] = numbers(series.highs);
    }
    if (!series.boxes.empty())
        line["boxes"] = boxes(series.boxes);
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
    OrderedJson fields{{"label", axis.label}, {"logarithmic", axis.logarithmic}};
    for (const AxisTick& tick : axis.ticks)
        fields["ticks"].push_back({{"position", tick.position}, {"name", tick.name}});
    return fields;
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
    for (const FigureCell& cell : figure.outlined)
        document["outlined"].push_back({{"row", cell.row}, {"column", cell.column}});
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
    document["series"] = OrderedJson::array();
    for (const FigureSeries& series : figure.series)
        document["series"].push_back(seriesFields(figure, series));
}

OrderedJson tableCell(const TableCell& cell) {
    if (std::isnan(cell.value))
        return cell.text.empty() ? OrderedJson() : OrderedJson(cell.text);
    OrderedJson number{{"value", finiteOrNull(cell.value)}};
    if (cell.error > 0)
        number["standard_error"] = finiteOrNull(cell.error);
    for (const auto& [key, isTrue] : {std::pair("best", cell.isBest), std::pair("doubtful", cell.isDoubtful)})
        if (isTrue)
            number[key] = true;
    return number;
}

void addTable(OrderedJson& document, const FigureTable& table) {
    document["columns"] = OrderedJson::array();
    for (const TableColumn& column : table.columns) {
        OrderedJson& fields = document["columns"].emplace_back(OrderedJson{{"title", column.title}});
        if (!column.group.empty())
            fields["group"] = column.group;
        if (column.isText)
            fields["is_text"] = true;
        else
            fields["decimals"] = column.decimals;
    }
    document["rows"] = OrderedJson::array();
    for (const TableRow& row : table.rows) {
        OrderedJson cells = OrderedJson::array();
        std::ranges::transform(row.cells, std::back_inserter(cells), tableCell);
        document["rows"].push_back({{"cells", std::move(cells)}, {"published", row.isPublished}});
        if (row.startsGroup)
            document["rows"].back()["starts_group"] = true;
    }
    document["notes"] = table.notes;
}

OrderedJson figureDocument(const Figure& figure);

void addParts(OrderedJson& document, const Figure& figure) {
    document["grid_columns"] = figure.gridColumns;
    document["parts"] = OrderedJson::array();
    for (const Figure& part : figure.parts)
        document["parts"].push_back(figureDocument(part));
}

void addContent(OrderedJson& document, const Figure& figure) {
    switch (figure.kind) {
    case FigureKind::heatMap:
        return addHeatMap(document, figure);
    case FigureKind::panels:
        return addPanels(document, figure);
    case FigureKind::grid:
        return addParts(document, figure);
    case FigureKind::table:
        return addTable(document, figure.table);
    case FigureKind::series:
    case FigureKind::bands:
    case FigureKind::histogram:
    case FigureKind::scatter:
    case FigureKind::curves:
        return addSeries(document, figure);
    }
}

OrderedJson figureDocument(const Figure& figure) {
    OrderedJson document{{"kind", kindName(figure.kind)},
                         {"title", figure.title},
                         {"caption", figure.caption},
                         {"command", figure.command}};
    if (figure.kind != FigureKind::grid && figure.kind != FigureKind::table) {
        document["x"] = figureAxis(figure.x);
        document["y"] = figureAxis(figure.y);
    }
    addContent(document, figure);
    if (!figure.note.empty())
        document["note"] = figure.note;
    return document;
}

} // namespace

std::string figureJson(const Figure& figure) {
    return jsonText(figureDocument(figure));
}

} // namespace secateur
