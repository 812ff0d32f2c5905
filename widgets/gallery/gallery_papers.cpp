#include "widgets/gallery/gallery_papers.h"

#include <algorithm>
#include <variant>

namespace secateur {

namespace {

QString paperText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

std::vector<GalleryPaper> galleryPapers() {
    std::vector<GalleryPaper> papers;
    for (const Paper& one : allPapers())
        papers.push_back(
            {std::string(one.id), paperText(one.title), paperText(one.source), itemsOf(one),
             [&one](const RecipeChoice& choice, const Session& session) { return recipeSteps(one, choice, session); }});
    return papers;
}

bool isFromSession(const FigureInfo& item) {
    return std::holds_alternative<FromSession>(item.source);
}

QString itemId(const FigureInfo& item) {
    return paperText(item.id);
}

QString itemTitle(const FigureInfo& item) {
    return paperText(item.item ? item.item->title : item.id);
}

QString itemSummary(const FigureInfo& item) {
    const QString summary = paperText(item.summary);
    for (const Paper& paper : allPapers())
        if (const auto end = summary.lastIndexOf(" (" + paperText(paper.title)); end > 0 && summary.endsWith(')'))
            return summary.left(end);
    return summary;
}

std::vector<const RecipeStep*> missingSteps(const FigureInfo& item, const std::vector<RecipeStep>& steps) {
    std::vector<const RecipeStep*> missing;
    for (const RecipeStep& step : steps)
        if (!step.isDone && item.item && std::ranges::find(item.item->steps, step.id) != item.item->steps.end())
            missing.push_back(&step);
    return missing;
}

std::vector<const RecipeStep*> missingSteps(const std::vector<RecipeStep>& steps) {
    std::vector<const RecipeStep*> missing;
    for (const RecipeStep& step : steps)
        if (!step.isDone && step.reason.empty())
            missing.push_back(&step);
    return missing;
}

} // namespace secateur
