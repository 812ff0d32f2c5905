#pragma once

#include "analysis/figures/figure.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/base/head_id.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// How a cut changes gradients, drawn alike in the window and by `plot`: one layer, or all of them, one beneath
/// another.
/// @param layer one of the model's; none = all @param cut what was cut, in words: "L9.H7"
Figure gradientChangeFigure(const ModelCard& model, const GradientChange& change, std::optional<int> layer,
                            const std::string& cut, const ColourScale& scale);

/// What a request for the figure "gradient_change" asks for.
struct GradientFigureRequest {
    std::optional<int> layer;
    std::optional<HeadId> cut; ///< beside what --mask cuts; none = --mask itself is the cut
    std::string scalarisation = "auto";
    ColourScale scale;
};
/// Empty where another figure is asked for. @throws UsageError as makeFigure
std::optional<GradientFigureRequest> gradientFigureRequest(std::string_view figure);
/// "gradient_change:cut=9.7:layer=9"
std::string figureText(const GradientFigureRequest& request);

} // namespace secateur
