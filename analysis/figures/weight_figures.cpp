#include "analysis/figures/weight_figures.h"

#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/weights/unit_marks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

namespace secateur {

namespace {

std::string axisOf(std::string_view what, std::int64_t block) {
    return block == 1 ? std::string(what) : fmt::format("{} / {}", what, block);
}

/// The colours of numbers: diverging around zero if both signs occur, otherwise from the least to the largest.
void setColours(Figure& figure, double clipPercent) {
    const auto [least, largest] = finiteRange(figure.cells.values());
    figure.scale = {"viridis", ScaleKind::linear, clipPercent};
    if (!(least < 0 && largest > 0))
        return;
    std::vector<double> magnitudes;
    for (const double value : figure.cells.values())
        magnitudes.push_back(std::abs(value));
    double end = percentile(magnitudes, 100 - clipPercent);
    if (!(end > 0))
        end = std::max(-least, largest);
    figure.scale.map = "vik";
    figure.colour.range = AxisRange{-end, end};
}

/// "; a cell is the mean of 8 x 64 numbers"
std::string cellNote(const BlockPicture& picture, BlockValue value) {
    if (picture.blockRows * picture.blockColumns == 1)
        return {};
    return fmt::format("; a cell is the {} of {} x {} numbers",
                       value == BlockValue::mean ? "mean" : "number of largest magnitude", picture.blockRows,
                       picture.blockColumns);
}

GridWindow wholeOf(const NumberGrid& grid) {
    return {0, 0, grid.rows(), grid.columns()};
}

void checkHasNumbers(const NumberGrid& grid) {
    if (grid.count() == 0)
        throw Error("has no numbers", grid.subject());
}

/// A heat map, and the sizes of its blocks.
struct MappedGrid {
    Figure figure;
    BlockPicture picture;
};

MappedGrid mapped(const BlockPyramid& pyramid, GridWindow window, const WeightLook& look, const std::string& label,
                  const Progress& progress) {
    checkHasNumbers(pyramid.grid());
    MappedGrid map;
    map.picture =
        pyramid.picture(window, blockSize(window.rows, weightSide), blockSize(window.columns, weightSide), progress);
    const BlockPicture& picture = map.picture;
    Figure& figure = map.figure;
    figure.cells = Matrix(static_cast<std::size_t>(picture.height), static_cast<std::size_t>(picture.width));
    const std::vector<float>& values = look.value == BlockValue::mean ? picture.means : picture.largest;
    std::ranges::copy(values, figure.cells.values().begin());
    figure.x.label = axisOf("column", picture.blockColumns);
    figure.y.label = axisOf("row", picture.blockRows);
    figure.colour.label = label;
    setColours(figure, look.clipPercent);
    return map;
}

/// Names of units along an axis: at the middle of each, if there is room for them.
void nameUnits(FigureAxis& axis, std::span<const UnitMarks> marks, GridAxis along, std::int64_t block) {
    constexpr std::int64_t mostNames = 32;
    std::int64_t count = 0;
    for (const UnitMarks& mark : marks)
        count += mark.axis == along ? mark.count : 0;
    if (count == 0 || count > mostNames)
        return;
    for (const UnitMarks& mark : marks) {
        for (std::int64_t unit = 0; mark.axis == along && unit < mark.count; ++unit) {
            const double middle =
                static_cast<double>(mark.begin) + (static_cast<double>(unit) + 0.5) * static_cast<double>(mark.size);
            const std::string name = unitName({mark.unit, mark.layer, static_cast<int>(unit)});
            axis.ticks.push_back({middle / static_cast<double>(block) - 0.5, name.substr(name.find('.') + 1)});
        }
    }
}

Figure circuitMap(const HeadCircuit& circuit, const std::shared_ptr<const HeadCircuit>& shared, const WeightLook& look,
                  const Progress& progress) {
    const BlockPyramid pyramid(circuitGrid(shared));
    MappedGrid map = mapped(pyramid, wholeOf(pyramid.grid()), look, "weight", progress);
    const bool isQueryKey = circuit.kind == CircuitKind::queryKey;
    map.figure.title = fmt::format("{}, norm {}, stable rank {}", title(circuit.kind), significant(circuit.norm),
                                   significant(circuit.stableRank));
    map.figure.x.label = axisOf(isQueryKey ? "key input" : "input", map.picture.blockColumns);
    map.figure.y.label = axisOf(isQueryKey ? "query input" : "output", map.picture.blockRows);
    return std::move(map.figure);
}

/// A line through values; `positions` count from 0.
FigureSeries line(std::string_view label, const std::vector<double>& values) {
    FigureSeries series;
    series.label = label;
    series.values = values;
    for (std::size_t i = 0; i < values.size(); ++i)
        series.positions.push_back(static_cast<double>(i));
    return series;
}

Figure singularValueLines(const std::vector<std::shared_ptr<const HeadCircuit>>& circuits) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = "singular values";
    figure.x.label = "index";
    figure.y.label = "singular value";
    figure.y.logarithmic = true;
    for (const auto& circuit : circuits) {
        FigureSeries series = line(title(circuit->kind), circuit->singularValues);
        const double least = series.values.empty() ? 0 : series.values.front() * 1e-12; // rounding, not values
        for (double& value : series.values)
            value = value > least ? value : std::numeric_limits<double>::quiet_NaN();
        series.style = SeriesStyle::plainLine;
        figure.series.push_back(std::move(series));
    }
    return figure;
}

Figure rotaryLine(const HeadCircuit& circuit) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = "share of the squared norm by rotary pair";
    figure.x.label = "rotary pair, fastest first";
    figure.y.label = "share (%)";
    std::vector<double> shares = circuit.rotaryShares;
    for (double& share : shares)
        share *= 100;
    figure.series.push_back(line("share of the rotary pair", shares));
    figure.series.back().style = SeriesStyle::line;
    return figure;
}

std::string fileOf(const StoredTensors& tensors) {
    return std::filesystem::path(tensors.path()).filename().string();
}

std::string plotLabel(TensorPlane plane) {
    return plane == TensorPlane::values ? "weight" : plane == TensorPlane::scales ? "scale" : "minimum";
}

} // namespace

Figure gridMap(const BlockPyramid& pyramid, GridWindow window, const WeightLook& look, const std::string& label,
               const Progress& progress) {
    MappedGrid map = mapped(pyramid, window, look, label, progress);
    map.figure.caption = pyramid.grid().subject() + cellNote(map.picture, look.value) + ".";
    return std::move(map.figure);
}

Figure circuitFigure(const ModelCard& model, const std::vector<std::shared_ptr<const HeadCircuit>>& circuits,
                     const WeightLook& look, const Progress& progress) {
    const HeadCircuit& first = *circuits.front();
    const std::string head = headName(first.head.layer, first.head.head);
    Figure figure;
    figure.kind = FigureKind::grid;
    figure.title = fmt::format("{}, circuits of {}", model.name, head);
    figure.gridColumns = 2;
    for (const auto& circuit : circuits)
        figure.parts.push_back(circuitMap(*circuit, circuit, look, progress));
    if (std::ranges::all_of(circuits, [](const auto& circuit) { return !circuit->singularValues.empty(); }))
        figure.parts.push_back(singularValueLines(circuits));
    for (const auto& circuit : circuits)
        if (!circuit->rotaryShares.empty())
            figure.parts.push_back(rotaryLine(*circuit));
    figure.x.label = figure.parts.front().x.label;
    figure.y.label = figure.parts.front().y.label;
    const std::int64_t rank = first.rank;
    const std::string names =
        circuits.size() > 1 ? "query-key and output-value circuits" : std::string(title(first.kind));
    figure.caption = fmt::format("{}: {} of {}, of rank {}{}.", model.name, names, head, rank,
                                 first.options.foldNorm ? ", with the input norm folded in" : "");
    return figure;
}

Figure tensorFigure(const std::string& name, const StoredTensors& tensors, std::size_t index, TensorPlane plane,
                    const WeightLook& look, const Progress& progress) {
    const StoredTensor& tensor = tensors.tensors().at(index);
    const BlockPyramid pyramid(tensors.grid(index, plane));
    MappedGrid map = mapped(pyramid, wholeOf(pyramid.grid()), look, plotLabel(plane), progress);
    if (tensors.spec()) {
        const std::vector<UnitMarks> marks = unitMarks(tensor, *tensors.spec());
        nameUnits(map.figure.y, marks, GridAxis::rows, map.picture.blockRows);
        if (plane == TensorPlane::values)
            nameUnits(map.figure.x, marks, GridAxis::columns, map.picture.blockColumns);
    }
    map.figure.title = tensor.name;
    map.figure.caption =
        fmt::format("{}: {}{}, {} x {} of type {}{}.", name,
                    plane == TensorPlane::values ? "" : fmt::format("{} of ", secateur::name(plane)), tensor.name,
                    pyramid.grid().rows(), pyramid.grid().columns(), tensor.type, cellNote(map.picture, look.value));
    return std::move(map.figure);
}

Figure differenceFigure(const StoredTensors& first, const StoredTensors& second, const TensorPair& pair,
                        const WeightLook& look, const Progress& progress) {
    if (!pair.obstacle.empty())
        throw Error(pair.obstacle, pair.name);
    const auto here = firstGrid(first, pair);
    const auto there = secondGrid(second, pair);
    const TensorDifference difference = compareGrids(*here, *there, progress.part(0, 0.5));
    const BlockPyramid pyramid(differenceGrid(here, there));
    MappedGrid map = mapped(pyramid, wholeOf(pyramid.grid()), look, "difference", progress.part(0.5, 1));
    map.figure.title = pair.name;
    map.figure.caption = fmt::format("{}: {} minus {}, relative error {}, signal to noise {} dB{}.", pair.name,
                                     fileOf(second), fileOf(first), significant(difference.relativeError()),
                                     significant(difference.signalToNoise()), cellNote(map.picture, look.value));
    return std::move(map.figure);
}

Figure signalToNoiseFigure(const StoredTensors& first, const StoredTensors& second,
                           std::span<const PairReport> differences) {
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = fmt::format("{} compared with {}", fileOf(second), fileOf(first));
    figure.x.label = "layer";
    figure.y.label = "signal to noise (dB)";
    std::map<WeightName, FigureSeries> lines;
    for (const PairReport& report : differences) {
        if (!report.difference || !report.pair.firstPart)
            continue;
        const TensorPart& part = first.tensors()[report.pair.first].parts[*report.pair.firstPart];
        const double ratio = report.difference->signalToNoise();
        if (part.layer < 0 || !std::isfinite(ratio))
            continue;
        FigureSeries& series = lines[part.weight];
        series.label = title(part.weight);
        series.positions.push_back(part.layer);
        series.values.push_back(ratio);
    }
    for (auto& [weight, series] : lines)
        figure.series.push_back(std::move(series));
    if (figure.series.empty())
        throw Error(fmt::format("has no weights of layers that differ from those of {}", first.path()), second.path());
    figure.caption = fmt::format("Signal to noise of the weights of {} compared with {}, in dB; equal tensors have no "
                                 "value.",
                                 fileOf(second), fileOf(first));
    return figure;
}

} // namespace secateur
