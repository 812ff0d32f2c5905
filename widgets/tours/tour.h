#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/pruning_mask.h"

#include <QString>

#include <cstddef>
#include <set>
#include <span>

namespace secateur {

class Document;
class Selection;

/// The part of the window's state by which a step ends.
struct TourState {
    std::set<HeadId> selected;
    PruningMask mask;
    int undoIndex = 0;        ///< number of actions that can be undone
    std::size_t masks = 0;    ///< number of masks in the list
    std::size_t results = 0;  ///< number of measurements, including running ones
    bool isComparing = false; ///< whether the current mask is compared with another one
};

TourState tourState(const Document& document, const Selection& selection);

/// A step of a tour. The texts are in English; tourText() translates them.
struct TourStep {
    /// Object name of the widget to point at. A menu stands for its title in the menu bar, a tab widget for its tabs.
    const char* target;
    const char* heading;
    const char* text;
    const char* tab = "";   ///< view to show first, as in ViewTabs::showTab(); empty = any
    const char* dock = "";  ///< object name of the panel to show first; empty = none
    const char* part = "";  ///< property of the widget with the rectangle to point at; empty = the whole widget
    const char* until = ""; ///< sentence on the condition by which the step ends
    /// Whether the step ends by itself. @param before state when the step was shown; null = it never does
    bool (*isDone)(const TourState& before, const TourState& now) = nullptr;
    bool focusesTarget = false; ///< whether the widget gets the keyboard focus, because the text names its keys
};

/// A row of the table of tours.
struct Tour {
    const char* id;
    const char* title;   ///< an imperative
    const char* summary; ///< what the tour shows
    std::span<const TourStep> steps;
};

/// The table of tours, in the order of the menu.
std::span<const Tour> allTours();

/// The tour with an id; null if there is none.
const Tour* findTour(const QString& id);

/// A text of a row in the language of the window.
QString tourText(const char* text);

} // namespace secateur
