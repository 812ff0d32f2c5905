#pragma once

#include "analysis/gallery/figure_rows.h"
#include "analysis/gallery/paper.h"

#include <vector>

namespace secateur {

// The steps of the recipes of the papers, which recipeSteps() chooses from.

std::vector<RecipeStep> gateNormSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> greedyGnormSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> ampSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> bosSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> harpSteps(const RecipeChoice& choice, const Session& session);

} // namespace secateur
