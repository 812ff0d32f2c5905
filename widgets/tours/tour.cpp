#include "widgets/tours/tour.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"

#include <QCoreApplication>

#include <algorithm>

namespace secateur {

namespace {

constexpr const char* tourContext = "Tour";

// ---- conditions

bool hasSelected(const TourState& before, const TourState& now) {
    return !now.selected.empty() && now.selected != before.selected;
}

bool hasEdited(const TourState& before, const TourState& now) {
    return now.mask != before.mask &&
           now.undoIndex >= before.undoIndex; // equal if the edit was merged with the last one
}

bool hasUndone(const TourState& before, const TourState& now) {
    return now.undoIndex < before.undoIndex;
}

bool hasMeasured(const TourState& before, const TourState& now) {
    return now.results > before.results;
}

bool hasAddedMask(const TourState& before, const TourState& now) {
    return now.masks > before.masks;
}

bool compares(const TourState& before, const TourState& now) {
    return now.isComparing && !before.isComparing;
}

// ---- rows

constexpr TourStep lookSteps[]{
    {.target = "headsGrid",
     .heading = QT_TRANSLATE_NOOP("Tour", "All heads of the model"),
     .text = QT_TRANSLATE_NOOP("Tour", "Each cell is a head: layers from top to bottom, heads from left to right. The "
                                       "colour is the value of the metric that is named above the picture."),
     .tab = "heads"},
    {.target = "headsGrid",
     .heading = QT_TRANSLATE_NOOP("Tour", "Selection"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Click a cell or press an arrow key. Drag to select several heads. Selected heads "
                                   "are outlined in every view."),
     .tab = "heads",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you select a head."),
     .isDone = hasSelected,
     .focusesTarget = true},
    {.target = "selection",
     .heading = QT_TRANSLATE_NOOP("Tour", "Values of the selected heads"),
     .text = QT_TRANSLATE_NOOP("Tour", "This panel lists every measured value, with its rank in the model and its "
                                       "percentile in the layer. The head with rank 1 is pruned first."),
     .dock = "selection"},
    {.target = "metricList",
     .heading = QT_TRANSLATE_NOOP("Tour", "Metrics"),
     .text = QT_TRANSLATE_NOOP("Tour", "● marks a measured metric: click it to show it. ○ marks one that is not "
                                       "measured: choose it and press Measure below the list."),
     .dock = "metrics",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you measure a metric."),
     .isDone = hasMeasured},
    {.target = "layersPlot",
     .heading = QT_TRANSLATE_NOOP("Tour", "Layers"),
     .text = QT_TRANSLATE_NOOP("Tour", "This view draws metrics of whole layers over the depth of the model. Click a "
                                       "layer to select its heads."),
     .tab = "layers"},
    {.target = "viewTabs",
     .heading = QT_TRANSLATE_NOOP("Tour", "Other views"),
     .text = QT_TRANSLATE_NOOP("Tour", "The other tabs show neurons, attention maps, two metrics against each other, "
                                       "curves and the figures of papers. Ctrl+1 to Ctrl+9 switch between them; F1 "
                                       "lists all keys.")},
};

constexpr TourStep cutSteps[]{
    {.target = "headsGrid",
     .heading = QT_TRANSLATE_NOOP("Tour", "Cutting a head"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Select a head and press Space. Cut heads are hatched, so that their colour stays "
                                   "readable. Space restores them."),
     .tab = "heads",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you cut a head."),
     .isDone = hasEdited,
     .focusesTarget = true},
    {.target = "savings",
     .heading = QT_TRANSLATE_NOOP("Tour", "Savings"),
     .text = QT_TRANSLATE_NOOP("Tour", "The panel Mask states at once what the cuts save: parameters, bytes, KV cache "
                                       "per token and operations."),
     .dock = "mask"},
    {.target = "effect",
     .heading = QT_TRANSLATE_NOOP("Tour", "Effect on the loss"),
     .text = QT_TRANSLATE_NOOP("Tour",
                               "The loss is measured a moment after each edit: on a few windows of a text first, then "
                               "on more. It is compared with the dense model. The line above predicts it before it "
                               "is measured."),
     .dock = "mask"},
    {.target = "headsGrid",
     .heading = QT_TRANSLATE_NOOP("Tour", "Cutting by a threshold"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Drag on the colour bar. Heads beyond the threshold are hatched lightly, and are "
                                   "cut when you release the button. The keys [ and ] move it by one head."),
     .tab = "heads",
     .part = "colourBar",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you cut by a threshold."),
     .isDone = hasEdited,
     .focusesTarget = true},
    {.target = "cutBox",
     .heading = QT_TRANSLATE_NOOP("Tour", "Cutting to a budget"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Choose a metric and a number of units. All views preview the units with the lowest "
                                   "values. The button Cut cuts them."),
     .dock = "mask",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you cut."),
     .isDone = hasEdited},
    {.target = "editMenu",
     .heading = QT_TRANSLATE_NOOP("Tour", "Undo"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Ctrl+Z undoes the last edit of the mask, and Ctrl+Y repeats it. Nothing is final "
                                   "until you export the model."),
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you undo an edit."),
     .isDone = hasUndone},
};

constexpr TourStep compareSteps[]{
    {.target = "maskList",
     .heading = QT_TRANSLATE_NOOP("Tour", "Several masks"),
     .text = QT_TRANSLATE_NOOP("Tour", "This list has all masks of the session. Duplicate the mask in the menu of the "
                                       "button … and change the copy."),
     .dock = "mask",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you add a mask."),
     .isDone = hasAddedMask},
    {.target = "headsGrid",
     .heading = QT_TRANSLATE_NOOP("Tour", "Differences between two masks"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Ctrl+D compares the mask with the next one of the list and marks the heads that "
                                   "only one of them cuts. Ctrl+Alt+D swaps the two."),
     .tab = "heads",
     .until = QT_TRANSLATE_NOOP("Tour", "Continues when you compare two masks."),
     .isDone = compares},
    {.target = "evaluationTable",
     .heading = QT_TRANSLATE_NOOP("Tour", "Evaluations"),
     .text = QT_TRANSLATE_NOOP("Tour", "Each evaluated mask is a row; the first is the dense model. A double click "
                                       "restores the mask of a row."),
     .dock = "evaluations"},
    {.target = "evaluationPlot",
     .heading = QT_TRANSLATE_NOOP("Tour", "Size and loss"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "Each point is an evaluated mask: the parameters left, and the change of the loss. "
                                   "A click on a point finds its row."),
     .dock = "evaluations"},
    {.target = "sweepPanel",
     .heading = QT_TRANSLATE_NOOP("Tour", "Sweeps"),
     .text = QT_TRANSLATE_NOOP("Tour", "Tick strategies and type budgets. Run sweep makes a mask for each strategy and "
                                       "budget, and evaluates it in the background."),
     .dock = "sweep"},
    {.target = "curvesView",
     .heading = QT_TRANSLATE_NOOP("Tour", "Curves"),
     .text =
         QT_TRANSLATE_NOOP("Tour", "A sweep becomes a line for each strategy. A click on a point previews its mask in "
                                   "all views; a double click makes it the current mask."),
     .tab = "curves"},
};

constexpr Tour tourRows[]{
    {"look", QT_TRANSLATE_NOOP("Tour", "Look at a model"),
     QT_TRANSLATE_NOOP("Tour", "The heatmap of the heads, their values, metrics and layers"), lookSteps},
    {"cut", QT_TRANSLATE_NOOP("Tour", "Cut heads"),
     QT_TRANSLATE_NOOP("Tour", "Cutting by hand, by a threshold and to a budget, the effect of a cut, and undo"),
     cutSteps},
    {"compare", QT_TRANSLATE_NOOP("Tour", "Compare masks"),
     QT_TRANSLATE_NOOP("Tour", "Several masks, the table of evaluations, sweeps and curves"), compareSteps},
};

} // namespace

TourState tourState(const Document& document, const Selection& selection) {
    const MaskEditor& masks = *document.masks();
    TourState state;
    state.selected = selection.heads();
    if (!document.isOpen())
        return state;
    state.mask = masks.mask();
    state.undoIndex = document.masks()->undoStack()->index();
    state.masks = masks.state().masks.size();
    state.results = document.measurements()->requests().size();
    state.isComparing = masks.compared() != nullptr;
    return state;
}

std::span<const Tour> allTours() {
    return tourRows;
}

const Tour* findTour(const QString& id) {
    const auto found = std::ranges::find_if(tourRows, [&](const Tour& tour) { return id == tour.id; });
    return found == std::end(tourRows) ? nullptr : found;
}

QString tourText(const char* text) {
    return QCoreApplication::translate(tourContext, text);
}

} // namespace secateur
