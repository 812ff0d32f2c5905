#include "analysis/gallery/paper_rows.h"

namespace secateur {

std::span<const FigureInfo> bosFigures() {
    return {};
}

std::vector<RecipeStep> bosSteps(const RecipeChoice& /*choice*/, const Session& /*session*/) {
    return {};
}

} // namespace secateur
