#include "analysis/figures/gradient_change_figure.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur {

Figure gradientChangeFigure(const ModelCard& model, const GradientChange& change, std::optional<int> layer,
                            const std::string& cut, const ColourScale& scale) {
    std::size_t rows = 0;
    std::size_t columns = 0;
    int headDim = 0;
    const int first = layer.value_or(0);
    const int end = layer ? *layer + 1 : static_cast<int>(change.layers.size());
    for (int shown = first; shown < end; ++shown) {
        const Matrix& cells = change.layers[static_cast<std::size_t>(shown)];
        rows += cells.rows();
        columns = std::max(columns, cells.columns());
        headDim = std::max(headDim, model.spec.layers[static_cast<std::size_t>(shown)].headDim);
    }
    Figure figure;
    figure.title = model.name;
    figure.x.label = fmt::format("input / {}", headDim);
    figure.y.label = layer ? fmt::format("head of layer {}", *layer) : "head";
    figure.cells = Matrix(rows, columns);
    std::size_t row = 0;
    for (int shown = first; shown < end; ++shown) {
        const Matrix& cells = change.layers[static_cast<std::size_t>(shown)];
        for (std::size_t head = 0; head < cells.rows(); ++head, ++row) {
            std::ranges::copy(cells.row(head), figure.cells.row(row).begin());
            if (!layer)
                figure.y.names.push_back(headName(shown, static_cast<int>(head)));
        }
    }
    figure.scale = scale;
    figure.colour = {"change of ∂F/∂W_q", false, {}, {}};
    figure.caption =
        fmt::format("{}: ∂F/∂W_q with {} cut, less the same without that cut, the mean over the texts of {} "
                    "tokens; a cell is the mean of {} x {} entries.",
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
