#pragma once

#include "analysis/masks/pruning_mask.h"

#include <QString>

#include <functional>

namespace secateur {
class Document;
class JobRunner;
class LiveEvaluation;
class MainWindow;
} // namespace secateur

namespace secateur::test {

/// The parts of the window whose times are taken.
struct BusyWindow {
    MainWindow& window;
    Document& document;
    JobRunner& jobs;
    LiveEvaluation& live;
};

/// While gradients of the open model are computed, which takes minutes, times what a user waits for: the first figure
/// of an edit, saving, opening another model, saving and quitting. Closes the window.
/// @param other the other model @param drawn makes a mask of the open model
void timeBusy(const BusyWindow& parts, const QString& other, int edits,
              const std::function<PruningMask(int layer)>& drawn);

} // namespace secateur::test
