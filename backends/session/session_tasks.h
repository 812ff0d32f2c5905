#pragma once

#include "analysis/evaluation/evaluation.h"
#include "backends/session/hdf5_io.h"

namespace secateur {

/// A run of a task as a group of a session: how it was asked, what came of it, and every answer. Its scores are worked
/// out again from the answers. @throws Error naming the dataset or attribute
TaskEvaluation readTaskRun(const hdf5::Handle& group);
void writeTaskRun(const hdf5::Handle& group, const TaskEvaluation& task);

} // namespace secateur
