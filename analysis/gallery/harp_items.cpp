#include "analysis/gallery/paper_rows.h"

namespace secateur {

std::span<const FigureInfo> harpFigures() {
    return {};
}

std::vector<RecipeStep> harpSteps(const RecipeChoice& /*choice*/, const Session& /*session*/) {
    return {};
}

} // namespace secateur
