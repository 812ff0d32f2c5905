#include "analysis/gallery/paper_rows.h"

namespace secateur {

std::span<const FigureInfo> gateNormFigures() {
    return {};
}

std::vector<RecipeStep> gateNormSteps(const RecipeChoice& /*choice*/, const Session& /*session*/) {
    return {};
}

} // namespace secateur
