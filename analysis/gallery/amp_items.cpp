#include "analysis/gallery/paper_rows.h"

namespace secateur {

std::span<const FigureInfo> ampFigures() {
    return {};
}

std::vector<RecipeStep> ampSteps(const RecipeChoice& /*choice*/, const Session& /*session*/) {
    return {};
}

} // namespace secateur
