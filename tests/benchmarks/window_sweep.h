#pragma once

#include "tests/benchmarks/window_busy.h"

namespace secateur::test {

/// Runs a sweep of several strategies in the window with its tab *Curves* in front, and times the longest period without
/// an answer, and from a click on a point until the price of its mask is drawn. Stops the sweep after some points.
/// @param clicks number of clicks
void timeSweep(const BusyWindow& parts, int clicks);

} // namespace secateur::test
