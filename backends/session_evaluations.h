#pragma once

#include "analysis/session.h"
#include "backends/hdf5_io.h"

#include <vector>

namespace secateur {

/// Everything under /evaluations. Means and errors are worked out again from the losses and answers that are kept.
/// @throws Error naming the place
std::vector<Evaluation> readEvaluations(const hdf5::Handle& file);

/// In place of whatever evaluations the file holds.
void writeEvaluations(const hdf5::Handle& file, const std::vector<Evaluation>& evaluations);

} // namespace secateur
