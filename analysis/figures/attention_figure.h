#pragma once

#include "analysis/figures/figure.h"
#include "analysis/base/head_id.h"
#include "analysis/figures/map_pyramid.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What the tokens of a text attend to by one head, drawn alike in the window and by `plot`: at most attentionSide
/// cells along an edge, each of a longer text the largest of those it stands for.
/// @param labels of the tokens; they name rows and columns where each has a cell
Figure attentionFigure(const std::string& modelName, HeadId head, const MapPyramid& map,
                       const std::vector<std::string>& labels, const ColourScale& scale);
inline constexpr int attentionSide = 256;

/// Which head of a model a request for the figure "attention" names, and in which colours.
struct AttentionRequest {
    HeadId head;
    ColourScale scale;
};
/// Empty where another figure is asked for. @throws UsageError as makeFigure
std::optional<AttentionRequest> attentionRequest(std::string_view figure);
/// "attention:layer=3:head=1:colours=viridis:log=false:clip=1"
std::string figureText(const AttentionRequest& request);

} // namespace secateur
