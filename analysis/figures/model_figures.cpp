#include "analysis/figures/model_figures.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

namespace secateur {

namespace {

MapPyramid::Level halved(const MapPyramid::Level& level) {
    MapPyramid::Level half;
    half.side = (level.side + 1) / 2;
    half.cells = 2 * level.cells;
    half.values.resize(static_cast<std::size_t>(half.side) * static_cast<std::size_t>(half.side));
    auto cell = half.values.begin();
    for (int row = 0; row < level.side; row += 2) {
        const int below = std::min(row + 1, level.side - 1);
        for (int column = 0; column < level.side; column += 2) {
            const int right = std::min(column + 1, level.side - 1);
            *cell++ = std::max(
                {level.at(row, column), level.at(row, right), level.at(below, column), level.at(below, right)});
        }
    }
    return half;
}

/// Puts matrices one below another. Rows of narrower matrices are filled with NaN.
Matrix stacked(std::span<const Matrix> parts) {
    std::size_t rows = 0;
    std::size_t columns = 0;
    for (const Matrix& part : parts) {
        rows += part.rows();
        columns = std::max(columns, part.columns());
    }
    Matrix all(rows, columns);
    std::size_t row = 0;
    for (const Matrix& part : parts)
        for (std::size_t own = 0; own < part.rows(); ++own)
            std::ranges::copy(part.row(own), all.row(row++).begin());
    return all;
}

} // namespace

MapPyramid::MapPyramid(std::vector<float> values, int side)
    : m_side(side) {
    m_levels.push_back({side, 1, std::move(values)});
    addCoarserLevels();
}

MapPyramid::MapPyramid(AttentionMap map)
    : m_side(map.tokens) {
    m_levels.push_back({map.side(), map.cells, std::move(map.values)});
    addCoarserLevels();
}

void MapPyramid::addCoarserLevels() {
    while (m_levels.back().side > 1)
        m_levels.push_back(halved(m_levels.back()));
}

const MapPyramid::Level& MapPyramid::level(double cells) const {
    const auto finer = std::ranges::find_if(m_levels, [&](const Level& level) { return level.cells > cells; });
    return finer == m_levels.begin() ? m_levels.front() : *std::prev(finer);
}

std::vector<double> MapPyramid::sample(std::size_t most) const {
    const std::vector<float>& values = m_levels.front().values;
    const auto visible = static_cast<std::size_t>(std::ranges::count_if(values, [](float value) { return value > 0; }));
    const std::size_t step = std::max<std::size_t>(visible / std::max<std::size_t>(most, 1), 1);
    std::vector<double> sample;
    std::size_t index = 0;
    for (const float value : values)
        if (value > 0 && index++ % step == 0)
            sample.push_back(value);
    return sample;
}

Figure attentionFigure(const std::string& modelName, HeadId head, const MapPyramid& map,
                       const std::vector<std::string>& labels, const ColourScale& scale) {
    double cells = 1;
    while (map.side() / cells > attentionSide)
        cells *= 2;
    const MapPyramid::Level& level = map.level(cells);
    const bool isWhole = level.cells == 1;
    const auto axis = [&](const char* what) {
        return isWhole ? std::string(what) : fmt::format("{} / {}", what, level.cells);
    };
    Figure figure;
    figure.title = modelName;
    figure.x.label = axis("key");
    figure.y.label = axis("query");
    const auto side = static_cast<std::size_t>(level.side);
    figure.cells = Matrix(side, side);
    for (std::size_t i = 0; i < level.values.size(); ++i)
        if (level.values[i] > 0)
            figure.cells.values()[i] = static_cast<double>(level.values[i]);
    if (isWhole)
        figure.x.names = figure.y.names = labels;
    figure.scale = scale;
    figure.scale.kind = usedScale(scale.kind, figure.cells.values(), scale.clipPercent);
    const std::string what = "attention of " + headName(head.layer, head.head);
    figure.colour = {what, figure.scale.kind == ScaleKind::logarithmic, {}, {}};
    figure.caption = fmt::format("{}: {} over {} tokens{}.", modelName, what, map.side(),
                                 isWhole ? "" : fmt::format("; a cell is the maximum of {0} x {0}", level.cells));
    return figure;
}

std::string figureText(const AttentionRequest& request) {
    return fmt::format("attention:layer={}:head={}:{}", request.head.layer, request.head.head,
                       colourOptions(request.scale));
}

Figure gradientChangeFigure(const ModelCard& model, const GradientChange& change, std::optional<int> layer,
                            const std::string& cut, const ColourScale& scale) {
    const int first = layer.value_or(0);
    const int end = layer ? *layer + 1 : static_cast<int>(change.layers.size());
    int headDim = 0;
    for (int shown = first; shown < end; ++shown)
        headDim = std::max(headDim, model.spec.layers[static_cast<std::size_t>(shown)].headDim);
    Figure figure;
    figure.title = model.name;
    figure.x.label = fmt::format("input / {}", headDim);
    figure.y.label = layer ? fmt::format("head of layer {}", *layer) : "head";
    figure.cells = stacked(
        std::span(change.layers).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)));
    for (int shown = first; !layer && shown < end; ++shown)
        for (std::size_t head = 0; head < change.layers[static_cast<std::size_t>(shown)].rows(); ++head)
            figure.y.names.push_back(headName(shown, static_cast<int>(head)));
    figure.scale = scale;
    figure.scale.kind = ScaleKind::linear; // values of both signs
    figure.colour = {"change of ∂F/∂W_q", false, {}, {}};
    figure.caption =
        fmt::format("{}: ∂F/∂W_q with {} cut minus ∂F/∂W_q without the cut, mean over the texts of {} tokens; a "
                    "cell is the mean of {} x {} entries.",
                    model.name, cut, grouped(static_cast<std::uint64_t>(change.tokens)), headDim, headDim);
    return figure;
}

std::string figureText(const GradientFigureRequest& request) {
    std::string text = "gradient_change";
    if (request.cut)
        text += fmt::format(":cut={}.{}", request.cut->layer, request.cut->head);
    if (request.layer)
        text += fmt::format(":layer={}", *request.layer);
    if (request.scalarisation != "auto")
        text += ":scalarisation=" + request.scalarisation;
    return text + fmt::format(":colours={}:clip={}", request.scale.map, exactly(request.scale.clipPercent));
}

} // namespace secateur
