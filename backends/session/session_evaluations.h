#pragma once

#include "analysis/session/session.h"
#include "backends/session/hdf5_io.h"

#include <vector>

namespace secateur {

/// Everything under /evaluations. Means and errors are worked out again from the losses and answers that are kept.
/// @throws Error naming the place
std::vector<Evaluation> readEvaluations(const hdf5::Handle& file);

/// Into a file that holds none.
void writeEvaluations(const hdf5::Handle& file, const std::vector<Evaluation>& evaluations);

/// Adds evaluations as a session does; those that do not change are left as they are.
void addEvaluations(const hdf5::Handle& file, std::vector<Evaluation> additions);

} // namespace secateur
