#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/model/model_card.h"
#include "analysis/base/progress.h"

namespace secateur {

/// Reads a task file, and the one that its examples come from; takes no model.
/// @throws UsageError for an unknown format, and examples of a format that takes none; Error naming the file, the line
/// and the field; Cancelled
AskedTask readAskedTask(const TaskRequest& request, const Progress& progress = {});

/// Fills in what a model calls its classes, where the task is one for classifiers.
void nameClasses(AskedTask& asked, const ModelCard& model);

} // namespace secateur
