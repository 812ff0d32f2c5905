#pragma once

#include "analysis/base/progress.h"

#include <cstddef>

namespace secateur {

/// The Progress of one of several steps, as a part of the progress of all steps. Reports state the number of the step.
/// @param step 0 = what precedes the first step
Progress stepProgress(const Progress& all, std::size_t step, std::size_t steps);

} // namespace secateur
