#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper.h"

#include <span>
#include <vector>

namespace secateur {

// The rows of the figure table that redraw a paper, and the steps of its recipe. allFigures() and recipeSteps() join
// them.

std::span<const FigureInfo> gateNormFigures();
std::span<const FigureInfo> greedyGnormFigures();
std::span<const FigureInfo> ampFigures();
std::span<const FigureInfo> bosFigures();
std::span<const FigureInfo> harpFigures();

std::vector<RecipeStep> gateNormSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> greedyGnormSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> ampSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> bosSteps(const RecipeChoice& choice, const Session& session);
std::vector<RecipeStep> harpSteps(const RecipeChoice& choice, const Session& session);

} // namespace secateur
