#pragma once

#include "analysis/campaigns/curves.h"

#include <string>

namespace secateur {

/// The points of a set of curves as a CSV table, one row each, the dense model first. Columns have the names of the
/// datasets of a session; task metrics are "TASK.METRIC". A number that was not measured is empty.
std::string curvesCsv(const Curves& curves);

} // namespace secateur
