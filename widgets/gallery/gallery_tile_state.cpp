#include "widgets/document/calibration.h"
#include "widgets/gallery/gallery_view.h"
#include "widgets/gallery/step_process.h"

#include <algorithm>

namespace secateur {

namespace {

using TileKind = TileState::Kind;

QString fileNames(const std::vector<const RecipeStep*>& steps) {
    QStringList names;
    for (const RecipeStep* step : steps)
        for (const std::string& name : step->missingFiles)
            if (const QString text = QString::fromStdString(name); !names.contains(text))
                names << text;
    return names.join(", ");
}

/// The commands of the steps, and the files that they lack.
QString detailsOf(const std::vector<const RecipeStep*>& steps, const GallerySteps& runner) {
    QStringList lines;
    for (const RecipeStep* step : steps) {
        lines << QString::fromStdString(step->summary);
        if (step->reason.empty())
            lines << QString::fromStdString(shellText(stepCommand(runner.program(), step->arguments)));
        else
            lines << QString::fromStdString(step->reason);
    }
    if (const QString names = fileNames(steps); !names.isEmpty())
        lines << GalleryView::tr("Missing files: %1. Choose a folder with texts and tasks.").arg(names);
    return lines.join('\n');
}

/// The state of an item that runs the model.
TileState runStateOf(const FigureInfo& item, const GalleryContents& contents, double fraction) {
    const DrawnItem* drawn = contents.item(item);
    if (contents.isRunning(item))
        return {TileKind::measuring, {}, GalleryView::tr("Running the model…"), {}, fraction};
    if (drawn && drawn->figure)
        return {TileKind::drawn};
    const bool isText = std::holds_alternative<FromText>(item.source);
    const QString reason = drawn    ? drawn->reason
                           : isText ? GalleryView::tr("It runs the model on the calibration text.")
                                    : GalleryView::tr("It runs the model on the prompt of the tab Attention.");
    if (const QString why = contents.whyNotRun(item); !why.isEmpty())
        return {TileKind::refused, {}, why};
    const QString cost = costText(contents.seconds(item), 0);
    return {TileKind::missing, reason,
            cost.isEmpty() ? GalleryView::tr("Click to run") : GalleryView::tr("Click to run: %1").arg(cost)};
}

/// Whether a step of an item runs or waits.
TileState busyStateOf(const std::vector<const RecipeStep*>& missing, const GalleryPaper& paper,
                      const GallerySteps& steps) {
    for (const RecipeStep* step : missing)
        if (steps.isRunning({paper.id, step->id}))
            return {TileKind::measuring, {}, steps.text(), steps.command(), steps.fraction()};
    for (const RecipeStep* step : missing)
        if (steps.isWaiting({paper.id, step->id}))
            return {TileKind::waiting, {}, GalleryView::tr("Waiting for other measurements"), {}, -1};
    return {};
}

QString offerFor(const std::vector<const RecipeStep*>& runnable, const GalleryPaper& paper,
                 const GalleryContents& contents, const GallerySteps& steps, bool hasFailed) {
    const QString cost = costText(contents.seconds(runnable), GalleryContents::tokens(runnable));
    const bool isStopped =
        std::ranges::any_of(runnable, [&](const RecipeStep* step) { return steps.isStopped({paper.id, step->id}); });
    const QString verb = hasFailed   ? GalleryView::tr("Click to try again")
                         : isStopped ? GalleryView::tr("Stopped. Click to continue")
                                     : GalleryView::tr("Click to measure");
    return cost.isEmpty() ? verb : GalleryView::tr("%1: %2").arg(verb, cost);
}

} // namespace

TileState tileStateOf(const FigureInfo& item, const GalleryPaper& paper, const GalleryContents& contents,
                      const GallerySteps& steps, double fraction) {
    if (!isFromSession(item))
        return runStateOf(item, contents, fraction);
    const std::vector<const RecipeStep*> missing = missingSteps(item, contents.steps(paper));
    if (TileState busy = busyStateOf(missing, paper, steps); busy.kind != TileKind::unknown)
        return busy;
    const DrawnItem* drawn = contents.item(item);
    if (!drawn)
        return {};
    if (drawn->figure)
        return {TileKind::drawn, {}, {}, detailsOf(missing, steps), -1};
    QString reason = drawn->reason;
    for (const RecipeStep* step : missing)
        if (const QString failure = steps.failure({paper.id, step->id}); !failure.isEmpty())
            reason = failure;
    if (const QString problem = steps.problem(); !problem.isEmpty())
        return {TileKind::refused, reason, problem, {}, -1};
    std::vector<const RecipeStep*> runnable = missing;
    std::erase_if(runnable, [](const RecipeStep* step) { return !step->reason.empty(); });
    if (runnable.empty())
        return {TileKind::refused, reason,
                missing.empty() ? drawn->hint : QString::fromStdString(missing.front()->reason),
                detailsOf(missing, steps), -1};
    return {TileKind::missing, reason, offerFor(runnable, paper, contents, steps, reason != drawn->reason),
            detailsOf(missing, steps), -1};
}

} // namespace secateur
