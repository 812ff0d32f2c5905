#pragma once

#include "analysis/base/progress.h"
#include "analysis/tasks/task.h"

#include <string>

namespace secateur {

struct TaskFileOptions {
    std::string format = {}; ///< of taskFormats(); empty = what the fields of the first row speak for
    std::string labels = {}; ///< of a PIQA file without labels, one a line; empty = NAME-labels.lst beside NAME.jsonl
};

/// Reads a task, one JSON object a line; blank lines are left out.
/// @throws UsageError for an unknown format; Error naming the file, the line and the field; Cancelled
Task readTask(const std::string& path, const TaskFileOptions& options = {}, const Progress& progress = {});

} // namespace secateur
