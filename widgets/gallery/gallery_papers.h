#pragma once

#include "analysis/gallery/paper.h"

#include <QString>
#include <QStringList>

#include <functional>
#include <string>
#include <vector>

namespace secateur {

/// A section of the gallery: a paper with its figures and tables, and its recipe.
struct GalleryPaper {
    std::string id;
    QString title;
    QString source; ///< Paper::source
    std::vector<const FigureInfo*> items;
    std::function<std::vector<RecipeStep>(const RecipeChoice&, const Session&)> steps;
};

/// All papers, with those figures that a row of the table says are a paper's.
std::vector<GalleryPaper> galleryPapers();

/// Whether an item is drawn from the session; others run the model.
bool isFromSession(const FigureInfo& item);

QString itemId(const FigureInfo& item);
/// "Figure 3", the title of an item.
QString itemTitle(const FigureInfo& item);
/// What an item shows, without the paper and the number that its summary ends with.
QString itemSummary(const FigureInfo& item);

/// The steps that an item needs and that are not done, in the order of the recipe.
/// @param steps of the item's paper
std::vector<const RecipeStep*> missingSteps(const FigureInfo& item, const std::vector<RecipeStep>& steps);
/// All steps of a paper that are not done and can run.
std::vector<const RecipeStep*> missingSteps(const std::vector<RecipeStep>& steps);

} // namespace secateur
