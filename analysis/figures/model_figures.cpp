#include "analysis/figures/model_figures.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

namespace secateur {

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
    const std::string what = "attention of " + headName(head.layer, head.head);
    figure.colour = {what, scale.logarithmic, {}, {}};
    figure.caption = fmt::format("{}: {} over {} tokens{}.", modelName, what, map.side(),
                                 isWhole ? "" : fmt::format("; a cell is the largest of {0} x {0}", level.cells));
    return figure;
}

std::string figureText(const AttentionRequest& request) {
    return fmt::format("attention:layer={}:head={}:colours={}:log={}:clip={}", request.head.layer, request.head.head,
                       request.scale.map, request.scale.logarithmic, exactly(request.scale.clipPercent));
}

} // namespace secateur
