#include "analysis/gallery/paper_rows.h"

namespace secateur {

std::span<const FigureInfo> greedyGnormFigures() {
    return {};
}

std::vector<RecipeStep> greedyGnormSteps(const RecipeChoice& /*choice*/, const Session& /*session*/) {
    return {};
}

} // namespace secateur
